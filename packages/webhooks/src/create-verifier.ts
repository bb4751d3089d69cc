import { unavailable } from '@oncehook/kernel/http/error-codes'
import { AppError } from '@oncehook/kernel/http/errors'
import { createProvider } from './create-provider.ts'
import type { Delivery, VerifiedDelivery } from './delivery.ts'
import { overloaded } from './errors.ts'
import type { WebhookEvent } from './event.ts'
import { DELIVERY_DEPTH } from './events/json-object.ts'
import type { Provider } from './provider.ts'
import { bytesOf } from './raw-bytes.ts'
import { type DeliveryHeaders, rawHeadersOf } from './raw-headers.ts'
import type { HandshakeAnswer, ProviderSettings } from './schemes/scheme.ts'
import { SCHEMES } from './schemes/schemes.ts'
import { readSecretOptions } from './settings/read-secret-options.ts'
import { secretTextProblem } from './settings/secret-text-problem.ts'
import type { Handshake, Unreadable, Verification, Verified } from './verification.ts'
import type { VerifierOptions } from './verifier-options.ts'

export type { PaymentEventType, PaymentFacts, WebhookEvent } from './event.ts'
export type { DeliveryHeaders } from './raw-headers.ts'
export type { Refusal } from './refusal.ts'
export type { SignedTransmission } from './signed-transmission.ts'
export type { Handshake, Refused, Undecided, Unreadable, Verification, Verified } from './verification.ts'
export type {
  CommonOptions,
  OptionsOf,
  ProviderApiOptions,
  SchemeName,
  SchemeOptions,
  VerifierOptions,
  VerifierSecret,
} from './verifier-options.ts'

/**
 * How many levels a task may have, and the reader of one must accept: the gateway writes an object around the body.
 * @internal
 */
export const TASK_DEPTH = DELIVERY_DEPTH + 1

/** The options of a verifier are wrong. Each problem is a clause that names properties and never contains a secret. */
export class VerifierSettingsError extends Error {
  override readonly name = 'VerifierSettingsError'
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(`The verifier cannot be created: ${problems.join('; ')}`)
    this.problems = problems
  }
}

/** A delivery as it was received. */
export interface ReceivedDelivery {
  /** The exact body as bytes or text, never a parsed object. */
  readonly rawBody: Uint8Array | ArrayBuffer | string
  readonly headers: DeliveryHeaders
  /** The URL or the path of the request. Some schemes sign its query. Default: no query. */
  readonly url?: string
  /**
   * The address of the sender, for PayPal, Plaid and SNS: an address that has caused three useless requests for certificates or keys waits for 30 s.
   * Behind a proxy, pass the address of the client, not that of the proxy. Default: no address waits.
   */
  readonly from?: string
}

/** Verifies the deliveries of one provider. */
export interface Verifier {
  /**
   * Verifies a delivery and reads its events. Nothing that a sender can do makes it reject.
   * @throws TypeError if `rawBody` is not bytes or text
   */
  verify(delivery: ReceivedDelivery): Promise<Verification>
  /** The answer to the GET with which a provider checks the endpoint, from its URL; null refuses it. */
  answerCheck(url: string): Handshake | null
}

/** The clock and the network of a verifier. */
export interface VerifierDeps {
  /** Milliseconds since 1970. Default: `Date.now`. */
  readonly now?: () => number
  /** Reads certificates, and confirms events with the provider. Default: the global one. */
  readonly fetch?: typeof globalThis.fetch
}

/**
 * Creates the verifier of one provider.
 * @throws VerifierSettingsError with every problem of the options. A check of several options runs only if each of them is valid
 */
export function createVerifier(options: VerifierOptions, deps: VerifierDeps = {}): Verifier {
  const { now = Date.now, fetch = globalThis.fetch } = deps
  const provider = readProvider(options)
  return {
    async verify(received) {
      const delivery = toDelivery(received)
      try {
        return await check(provider, delivery, { now: now(), fetch })
      } catch (error) {
        return toVerification(error)
      }
    },
    answerCheck(url) {
      const json = provider.answerCheck?.(queryOf(url), now()) ?? null
      if (typeof json === 'string') return { outcome: 'handshake', status: 200, body: json, contentType: 'text/plain' }
      return json === null ? null : toHandshake({ json })
    },
  }
}

// The provider needs a name. Results do not contain it.
const NAME = 'webhook'
const MAX_BYTES = 16_000_000

function readProvider(options: VerifierOptions): Provider {
  const { secrets: given, ...rest } = options
  const read = readSecretOptions(given)
  const { secrets } = read
  const problems = [...read.problems, ...problemsOf(secrets)]
  const scheme = SCHEMES.get(options.scheme)
  if (scheme === undefined) throw new VerifierSettingsError(['scheme is unknown', ...problems])
  const parsed = scheme.schema.safeParse({ ...rest, ...(secrets.length === 0 ? {} : { secrets }) })
  const issues = parsed.error?.issues.filter(({ path }) => read.problems.length === 0 || path[0] !== 'secrets') ?? []
  if (!parsed.success || read.problems.length > 0) {
    throw new VerifierSettingsError([...issues.map(clauseOf), ...problems])
  }
  const made = makeProvider(parsed.data, secrets)
  const all = 'problems' in made ? [...problems, ...made.problems] : problems
  if ('problems' in made || all.length > 0) throw new VerifierSettingsError(all)
  return made
}

function problemsOf(secrets: readonly { readonly id: string; readonly value: string }[]): readonly string[] {
  const problems = secrets.flatMap(({ id, value }) => {
    const problem = secretTextProblem(value)
    return problem === null ? [] : [`secret ${id} ${problem}`]
  })
  const repeated = secrets.find(({ id }, index) => secrets.findIndex((other) => other.id === id) < index)
  return repeated === undefined ? problems : [...problems, `secret ${repeated.id} is named twice`]
}

/** An unknown option has no path: its message names it. */
function clauseOf({ path, message }: { readonly path: readonly PropertyKey[]; readonly message: string }): string {
  return path.length === 0 ? message : `${path.join('.')}: ${message}`
}

function makeProvider(
  settings: ProviderSettings,
  secrets: readonly { readonly value: string }[],
): ReturnType<typeof createProvider> {
  const secretTexts = secrets.map(({ value }) => value)
  // Tasks of Oncehook's gateway are deliveries of this scheme.
  const depth = settings.scheme === 'standard-webhooks' ? { maxDepth: TASK_DEPTH } : {}
  return createProvider({ name: NAME, settings, secretTexts, maxBytes: MAX_BYTES, ...depth })
}

function toDelivery({ rawBody, headers, url = '', from }: ReceivedDelivery): Delivery {
  const bytes = typeof rawBody === 'string' ? Buffer.from(rawBody, 'utf8') : bytesOf(rawBody)
  if (bytes === null) {
    throw new TypeError('rawBody must be the bytes or the text of the body as it was received, not what was parsed')
  }
  const delivery = { rawBody: bytes, rawHeaders: rawHeadersOf(headers), query: queryOf(url) }
  return from === undefined ? delivery : { ...delivery, from }
}

function queryOf(url: string): string {
  const start = url.indexOf('?')
  return start === -1 ? '' : url.slice(start + 1).replace(/#.*$/s, '')
}

interface Circumstances {
  readonly now: number
  readonly fetch: typeof globalThis.fetch
}

async function check(provider: Provider, delivery: Delivery, { now, fetch }: Circumstances): Promise<Verification> {
  const verified = await provider.verify(delivery, now, fetch)
  if ('refused' in verified) return { outcome: 'refused', status: 401, reason: verified.refused }
  const handshake = provider.answerHandshake(verified)
  if (handshake !== null) return toHandshake(handshake)
  const events = await confirmAll(provider, provider.readEvents(verified), fetch)
  return events === null
    ? { outcome: 'refused', status: 401, reason: 'object_unknown' }
    : { ...toVerified(verified), events }
}

function toVerified({ secretId, transmission, refusedItems }: VerifiedDelivery): Omit<Verified, 'events'> {
  if (refusedItems !== undefined) return { outcome: 'verified', status: 401, secretId, refusedItems }
  const found = { outcome: 'verified', status: 200, secretId } as const
  return transmission === undefined ? found : { ...found, transmission }
}

function toHandshake(answer: HandshakeAnswer): Handshake {
  return 'json' in answer
    ? { outcome: 'handshake', status: 200, body: JSON.stringify(answer.json) }
    : { outcome: 'handshake', status: 204 }
}

/** The events as the provider confirms them; null if it does not know one of them. */
async function confirmAll(
  { confirm }: Provider,
  events: readonly WebhookEvent[],
  fetch: typeof globalThis.fetch,
): Promise<readonly WebhookEvent[] | null> {
  if (confirm === undefined) return events
  const confirmed = await Promise.all(events.map((event) => confirm(event, fetch)))
  const found = confirmed.flatMap((answer) => ('event' in answer ? [answer.event] : []))
  return found.length === events.length ? found : null
}

const UNREADABLE: readonly Unreadable['code'][] = ['invalid_body', 'event_invalid']
const UNDECIDED: readonly string[] = [unavailable.code, overloaded.code]

function toVerification(error: unknown): Verification {
  if (!(error instanceof AppError)) throw error
  const code = UNREADABLE.find((one) => one === error.code)
  if (code !== undefined) return { outcome: 'unreadable', status: 400, code, message: error.message }
  if (!UNDECIDED.includes(error.code)) throw error
  return { outcome: 'undecided', status: 503, message: 'The provider cannot be asked now' }
}
