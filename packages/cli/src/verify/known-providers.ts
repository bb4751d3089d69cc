// The provider whose delivery is examined: its settings from a file, a variable or the local system, or made from options
// alone. It verifies with the code of the gateway.

import { findSignedTime, type SignedTime } from '@oncehook/gateway/webhooks/providers/observe'
import { fillInTexts } from '@oncehook/gateway/webhooks/providers/providers'
import { isObject } from '@oncehook/kernel/http/json'
import type { TextSources } from '@oncehook/kernel/settings/text-source'
import type { Refusal } from '@oncehook/webhooks'
import {
  createProvider,
  PAYMENT_EVENT_TYPES,
  type Provider,
  type ProviderSettings,
  providersSchema,
  SCHEMES,
} from '@oncehook/webhooks/providers'
import { type CliContext, CommandFailure, UsageError } from '../command.ts'
import { findLocalSystem } from '../options/gateway-address.ts'
import { placeOfSecret, readSecret } from '../options/option-values.ts'
import { findProviderEntries, readSecretText, textSources } from '../options/provider-entries.ts'
import { toPrintable } from '../output.ts'
import { type DeliveryOptions, type GivenDelivery, readDelivery } from './given-delivery.ts'

export interface KnownProvider {
  readonly name: string
  readonly settings: ProviderSettings
  /** In the order of `settings.secrets`. */
  readonly secretTexts: readonly string[]
}

/** The selected provider, and the other providers of the same settings. */
interface KnownProviders {
  readonly asked: KnownProvider
  readonly others: readonly KnownProvider[]
  /** Where the settings and secrets of the selected one come from. */
  readonly place: string
}

type Entries = Readonly<Record<string, unknown>>

/** @throws UsageError if there is no such provider, or if its settings or secrets cannot be read */
async function findKnownProviders(options: DeliveryOptions, context: CliContext): Promise<KnownProviders> {
  const { readEnv, dataFolder } = context
  const secret = await readSecret('secret', options, readEnv)
  if (options.provider === undefined && options.scheme !== undefined) {
    const name = options.scheme
    const asked = readProvider(name, toEntry(options, name, secret), textSources(readEnv))
    return { asked, others: [], place: [`--scheme ${name}`, ...placeOfSecret(options)].join(', ') }
  }
  const found = await findProviderEntries(options.providersFile, readEnv, () => findLocalSystem(dataFolder))
  if (typeof found === 'string') {
    throw new UsageError(`Give --providers-file, or --scheme with --secret-file: ${found}`)
  }
  const { entries, sources } = found
  const name = options.provider ?? onlyNameOf(entries)
  const entry = Object.hasOwn(entries, name) ? entries[name] : undefined
  if (entry === undefined) {
    throw new UsageError(`Unknown provider ${name}; known providers: ${listNames(entries)} (${found.place})`)
  }
  const given = secret === undefined ? {} : { secrets: [{ id: 'given', value: secret }] }
  const asked = readProvider(name, { ...toObject(entry), ...toSettings(options.set), ...given }, sources)
  const others = Object.entries(entries).flatMap(([other, settings]) =>
    other === name ? [] : readIfPossible(other, settings, sources),
  )
  const places = secret === undefined ? found.placesOf(asked.settings.secrets) : placeOfSecret(options)
  return { asked, others, place: [found.place, ...places].join(', ') }
}

/** The entry of `PROVIDERS` for a provider that is given only by options. */
function toEntry({ url, set }: DeliveryOptions, scheme: string, secret: string | undefined): object {
  const known = SCHEMES.get(scheme)
  if (known === undefined) {
    throw new UsageError(`Unknown scheme ${scheme}; known schemes: ${[...SCHEMES.keys()].toSorted().join(', ')}`)
  }
  if (secret === undefined && known.signsNothing !== true) {
    throw new UsageError('--scheme needs --secret-file or --secret-env')
  }
  return {
    scheme,
    acceptShortSecret: true,
    ...unusedFetch(scheme),
    ...(url !== undefined && signsAddress(scheme) ? { publicUrl: toPublicUrl(scheme, url) } : {}),
    ...toSettings(set),
    secrets: secret === undefined ? [] : [{ id: 'given', value: secret }],
  }
}

/** A `fetch` setting that satisfies the schema; it is never used. PayPal does not need one. */
export function unusedFetch(scheme: string): object {
  if (scheme === 'paypal' || SCHEMES.get(scheme)?.prepareConfirm === undefined) return {}
  return { fetch: { baseUrl: 'http://127.0.0.1', token: 'unused' } }
}

/** Whether a scheme signs the URL of the delivery. */
export function signsAddress(scheme: string): boolean {
  return ['hubspot', 'square', 'twilio'].includes(scheme)
}

/** HubSpot and Square sign the URL from their dashboards. Twilio adds the query of each delivery. */
export function toPublicUrl(scheme: string, url: string): string {
  return scheme === 'twilio' ? url.replace(/\?.*$/s, '') : url
}

function toSettings(set: DeliveryOptions['set'] = {}): Entries {
  return Object.fromEntries(
    Object.entries(set).map(([name, value]) => [name, name === 'toleranceSeconds' ? Number(value) : value]),
  )
}

function toObject(value: unknown): Entries {
  if (isObject(value)) return value
  throw new UsageError('The settings of a provider must be an object')
}

function onlyNameOf(entries: Entries): string {
  const [name, ...others] = Object.keys(entries)
  if (name !== undefined && others.length === 0) return name
  throw new UsageError(`Give --provider; known providers: ${listNames(entries)}`)
}

function listNames(entries: Entries): string {
  return Object.keys(entries).join(', ') || 'none'
}

/** @throws UsageError if its settings or its secrets cannot be read */
function readProvider(name: string, entry: unknown, sources: TextSources): KnownProvider {
  const { entry: filled, unreadable } = fillInTexts(entry, sources)
  if (unreadable.length > 0)
    throw new UsageError(`The settings of ${name} refer to unreadable values: ${unreadable.join(', ')}`)
  const parsed = providersSchema.safeParse({ [name]: filled })
  const read = parsed.data?.[name]
  // `effects` does not matter for authenticity, but the gateway requires it at start.
  const settings = read === undefined ? undefined : { ...read, effects: read.effects ?? PAYMENT_EVENT_TYPES }
  if (settings === undefined) {
    const problems = parsed.error?.issues.map(({ path, message }) => `${path.join('.')} ${message}`) ?? []
    throw new UsageError(`The settings are invalid: ${problems.join('; ')}`)
  }
  return { name, settings, secretTexts: settings.secrets.map((secret) => readSecretText(name, secret, sources)) }
}

/** A secret of another provider that cannot be read does not matter for this one. */
function readIfPossible(name: string, entry: unknown, sources: TextSources): KnownProvider[] {
  try {
    return [readProvider(name, entry, sources)]
  } catch (error) {
    if (error instanceof UsageError) return []
    throw error
  }
}

/** How the gateway would verify a delivery. */
export type VerificationResult =
  | { readonly accepted: true; readonly secretId: string; readonly signedId: string | null; readonly counts: boolean }
  | {
      readonly accepted: false
      readonly refusal: Refusal
      /** The places of the items that are refused, if the gateway stores the others. */
      readonly items?: readonly number[]
    }

const MAX_BYTES = 16_000_000

/**
 * The provider as the gateway makes it.
 * @throws UsageError if the gateway would not start with these settings
 */
export function prepareVerifier(known: KnownProvider): Provider {
  const provider = createProvider({ ...known, maxBytes: MAX_BYTES })
  if (!('problems' in provider)) return provider
  throw new UsageError(
    `The gateway would not start with these settings of ${known.name}: ${provider.problems.join('; ')}`,
  )
}

/**
 * Verifies a delivery with the gateway's own code, as of `now`. `counts` is false if the gateway would have to confirm the
 * event with the provider first.
 * @throws UsageError if the gateway would not start with these settings
 * @throws CommandFailure if a required certificate cannot be fetched
 */
export async function verifyDelivery({ asked, delivery, now, fetch }: GivenCase): Promise<VerificationResult> {
  const provider = prepareVerifier(asked)
  const result = await Promise.resolve(provider.verify(delivery, now, fetch)).catch((error: unknown) => {
    throw new CommandFailure('Cannot fetch the certificate: put it into the setting certificates', { cause: error })
  })
  if ('refused' in result) return { accepted: false, refusal: result.refused }
  const { secretId, signedId = null, refusedItems: items } = result
  if (items !== undefined) return { accepted: false, refusal: 'signature_mismatch', items }
  return { accepted: true, secretId, signedId, counts: provider.confirm === undefined }
}

/** The delivery and the provider of the options, before verification. */
export interface GivenCase extends GivenDelivery, KnownProviders {
  /** Milliseconds. */
  readonly now: number
  readonly fetch: typeof globalThis.fetch
  readonly signedTime: SignedTime | null
}

/** @throws UsageError */
export async function readGiven(
  file: string | undefined,
  options: DeliveryOptions,
  context: CliContext,
): Promise<GivenCase> {
  const providers = await findKnownProviders(options, context)
  const given = await readDelivery(file, options, context)
  const signedTime = findSignedTime(providers.asked.settings, given.delivery)
  return { ...given, ...providers, signedTime, now: options.now ?? context.now(), fetch: context.fetch }
}

/** The line for a delivery that proves too little by itself. */
export const UNCONFIRMED = 'Not enough is signed: the gateway must first confirm the event with the provider'

/** The line that says whose settings a result is about. */
export function describeSettings(place: string): string {
  return `Settings   ${toPrintable(place)}`
}
