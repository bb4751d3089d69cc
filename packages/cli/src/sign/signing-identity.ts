import type { Signer, SigningSettings } from '@oncehook/webhooks/signing/signer'
import { signers } from '@oncehook/webhooks/signing/signers'
import type { Command } from 'commander'
import type { CliContext } from '../cli-context.ts'
import { CommandFailure, UsageError } from '../exit-code.ts'
import { type LocalSystem, nothingRuns, type ProviderSettings } from '../options/local-system.ts'
import { collectSetting } from '../options/option-values.ts'
import { addSecretOptions, readSecret } from '../options/read-secret.ts'

/** The options that select a provider and its secret for signing. */
export interface SigningOptions {
  readonly provider?: string
  readonly scheme?: string
  readonly secret?: string
  readonly secretFile?: string
  readonly secretEnv?: string
  readonly secretId?: string
  readonly set?: Readonly<Record<string, string>>
}

/** The provider, scheme and secret to sign with. */
export interface SigningIdentity {
  /** The provider name in the URL path. */
  readonly provider: string
  readonly scheme: string
  readonly signer: Signer
  readonly secret: string
  readonly settings: SigningSettings
}

/** Gives a command the options of `SigningOptions`. */
export function addSigningOptions(command: Command): Command {
  const named = command
    .option('--provider <name>', 'provider name, as in /api/webhooks/<name> (default: acme, or the first provider)')
    .option('--scheme <name>', `signature scheme: ${[...signers.keys()].join(', ')} (default: from the local system)`)
  return addSecretOptions(named, 'secret', 'the secret')
    .option('--secret-id <id>', 'id of a secret of the local system (default: the first valid one)')
    .option('--set <name=value>', 'scheme setting, such as header=x-signature; repeatable', collectSetting)
}

/**
 * Completes the options with the provider settings of the local system.
 * @throws UsageError if options conflict, or if the scheme or a setting is unknown
 * @throws CommandFailure if no secret is found
 */
export async function findSigningIdentity(
  options: SigningOptions,
  { local, now, readEnv }: { local: LocalSystem | null; now: number; readEnv: CliContext['readEnv'] },
): Promise<SigningIdentity> {
  const given = await readSecret('secret', options, readEnv)
  const provider = options.provider ?? chooseProvider(options, local)
  const known = local?.providers[provider]
  const scheme = options.scheme ?? known?.scheme ?? (signers.has(provider) ? provider : 'standard-webhooks')
  const signer = signers.get(scheme)
  if (!signer) throw new UsageError(`Unknown scheme ${scheme}; known schemes: ${[...signers.keys()].join(', ')}`)
  const settings = { ...(known?.scheme === scheme ? known : {}), ...checkSettings({ scheme, signer }, options.set) }
  if (signer.signsNothing === true) return { provider, scheme, signer, secret: '', settings }
  const secret = given ?? chooseSecret({ provider, known, local }, options.secretId, now)
  return { provider, scheme, signer, secret, settings }
}

function chooseProvider({ scheme }: SigningOptions, local: LocalSystem | null): string {
  const names = Object.keys(local?.providers ?? {})
  if (scheme === undefined) return names.includes('acme') ? 'acme' : (names[0] ?? 'acme')
  return names.find((name) => local?.providers[name]?.scheme === scheme) ?? scheme
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
  { provider, known, local }: { provider: string; known: ProviderSettings | undefined; local: LocalSystem | null },
  id: string | undefined,
  now: number,
): string {
  if (local === null) throw new CommandFailure(`${nothingRuns}, or give a secret with --secret-file`)
  if (known === undefined) {
    const names = Object.keys(local.providers).join(', ')
    throw new CommandFailure(
      `The local system has no provider ${provider}, only ${names}; for another provider give --secret-file`,
    )
  }
  const secret = known.secrets.find((candidate) =>
    id === undefined ? Date.parse(candidate.notAfter ?? '9999-12-31T00:00:00Z') > now : candidate.id === id,
  )
  if (secret) return secret.value
  throw new CommandFailure(
    id === undefined
      ? `Every secret of the provider ${provider} has expired`
      : `The provider ${provider} has no secret ${id}, only ${known.secrets.map((each) => each.id).join(', ')}`,
  )
}
