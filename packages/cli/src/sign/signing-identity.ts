import type { Signer, SigningSettings } from '@oncehook/webhooks/signing/signer'
import { signers } from '@oncehook/webhooks/signing/signers'
import type { Command } from 'commander'
import { type CliContext, CommandFailure, UsageError } from '../command.ts'
import { type LocalSystem, nothingRuns } from '../options/gateway-address.ts'
import {
  addSecretOptions,
  collectSetting,
  placeOfSecret,
  readSecret,
  type SecretOptions,
} from '../options/option-values.ts'
import {
  entryOf,
  findProviderEntries,
  type ProviderEntries,
  type ProviderEntry,
  readSecretText,
} from '../options/provider-entries.ts'

export interface SigningOptions extends SecretOptions {
  readonly url?: string
  readonly provider?: string
  readonly scheme?: string
  readonly secretId?: string
  readonly set?: Readonly<Record<string, string>>
}

export interface SigningIdentity {
  /** The provider name in the URL path. */
  readonly provider: string
  readonly scheme: string
  readonly signer: Signer
  readonly secret: string
  /** Where the secret is, for people. Null if nothing is signed. */
  readonly place: string | null
  readonly settings: SigningSettings
}

export function addSigningOptions(command: Command): Command {
  const named = command
    .option('--provider <name>', 'provider name, as in /api/webhooks/<name> (default: acme, or the first provider)')
    .option('--scheme <name>', `signature scheme: ${[...signers.keys()].join(', ')} (default: from the settings)`)
  return addSecretOptions(named, 'secret', 'the secret')
    .option('--secret-id <id>', 'id of a secret in the settings (default: the first valid one)')
    .option('--set <name=value>', 'scheme setting, such as header=x-signature; repeatable', collectSetting)
}

/**
 * Completes the options with the provider settings of this shell or of the local system. It calls no gateway.
 * @throws UsageError if options conflict, or if the scheme or a setting is unknown
 * @throws CommandFailure if no secret is found
 */
export async function findSigningIdentity(
  options: SigningOptions,
  { local, now, readEnv }: { local: LocalSystem | null; now: number; readEnv: CliContext['readEnv'] },
): Promise<SigningIdentity> {
  const given = await readSecret('secret', options, readEnv)
  const found = await findProviderEntries(undefined, readEnv, async () => local)
  const provider = options.provider ?? chooseProvider(options, found)
  const known = typeof found === 'string' ? undefined : entryOf(found, provider)
  const scheme = options.scheme ?? known?.scheme ?? (signers.has(provider) ? provider : 'standard-webhooks')
  const signer = signers.get(scheme)
  if (!signer) throw new UsageError(`Unknown scheme ${scheme}; known schemes: ${[...signers.keys()].join(', ')}`)
  const settings = { ...(known?.scheme === scheme ? known : {}), ...checkSettings({ scheme, signer }, options.set) }
  const identity = { provider, scheme, signer, settings }
  if (signer.signsNothing === true) return { ...identity, secret: '', place: null }
  if (given !== undefined) return { ...identity, secret: given, place: placeOfSecret(options).join('') }
  if (typeof found === 'string') {
    throw new CommandFailure(`${whyNothing(options, { local, found })}, or give a secret with --secret-file`)
  }
  const secret = chooseSecret({ provider, known, found }, options.secretId, now)
  const [place = found.place] = found.placesOf([secret])
  return { ...identity, secret: readSecretText(provider, secret, found.sources), place }
}

/** Why there is no secret, and how to get one. */
function whyNothing({ url }: SigningOptions, { local, found }: { local: LocalSystem | null; found: string }): string {
  if (local !== null) return found.charAt(0).toUpperCase() + found.slice(1)
  return url === undefined ? nothingRuns : `No settings are known here for ${url}: set PROVIDERS_FILE`
}

function chooseProvider({ scheme }: SigningOptions, found: ProviderEntries | string): string {
  const entries = typeof found === 'string' ? {} : found.entries
  const names = Object.keys(entries)
  if (scheme === undefined) return names.includes('acme') ? 'acme' : (names[0] ?? 'acme')
  return names.find((name) => Object(entries[name]).scheme === scheme) ?? scheme
}

function checkSettings(
  { scheme, signer }: { scheme: string; signer: Signer },
  settings: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const unknown = Object.keys(settings).find((name) => !signer.settings.includes(name))
  if (unknown === undefined) return settings
  const known = signer.settings.length > 0 ? `; it has ${signer.settings.join(', ')}` : ''
  throw new UsageError(`The scheme ${scheme} has no setting ${unknown}${known}`)
}

function chooseSecret(
  { provider, known, found }: { provider: string; known: ProviderEntry | undefined; found: ProviderEntries },
  id: string | undefined,
  now: number,
): ProviderEntry['secrets'][number] {
  if (known === undefined) {
    const names = Object.keys(found.entries).join(', ')
    throw new CommandFailure(
      `There is no provider ${provider}, only ${names} (${found.place}); for another provider give --secret-file`,
    )
  }
  const secret = known.secrets.find((candidate) =>
    id === undefined ? Date.parse(candidate.notAfter ?? '9999-12-31T00:00:00Z') > now : candidate.id === id,
  )
  if (secret) return secret
  throw new CommandFailure(
    id === undefined
      ? `Every secret of the provider ${provider} has expired`
      : `The provider ${provider} has no secret ${id}, only ${known.secrets.map((each) => each.id).join(', ')}`,
  )
}
