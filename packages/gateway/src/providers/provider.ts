import { createSecretKey } from 'node:crypto'
import type { WebhookEvent } from '../event.ts'
import type { Delivery, VerifiedDelivery } from './delivery.ts'
import type { ProviderSettings } from './provider-settings.ts'
import type { Refusal } from './scheme.ts'
import { SCHEMES } from './schemes.ts'
import type { LiveSecret } from './signature.ts'

/** A configured provider, ready to judge deliveries. */
export interface Provider {
  readonly name: string
  readonly scheme: string
  readonly maxBytes: number
  /** The secrets by name, never by value. `notAfter` in milliseconds. */
  readonly secrets: readonly Pick<LiveSecret, 'id' | 'notAfter'>[]
  /** Whether a signature covers a time. If not, an old capture stays valid for ever, and so must its key here. */
  readonly signsTime: boolean
  /** The headers that a signature is checked with, in lower case. */
  readonly signedHeaders: readonly string[]
  /** Proves a delivery authentic at `now` (milliseconds), or says why it is not. Pure, never throws. */
  verify(delivery: Delivery, now: number): VerifiedDelivery | { readonly refused: Refusal }
  /**
   * Reads the event of an authentic delivery.
   * @throws invalidBody or eventInvalid
   */
  readEvent(delivery: VerifiedDelivery): WebhookEvent
}

/** A provider's settings with the texts of its secrets at hand. */
export interface ProviderSource {
  readonly name: string
  readonly settings: ProviderSettings
  readonly secretTexts: readonly string[]
  readonly maxBytes: number
}

const MIN_KEY_BYTES = 16

/** Makes a provider ready, or lists what is wrong with its secrets without quoting any. */
export function createProvider(source: ProviderSource): Provider | { readonly problems: string[] } {
  const scheme = SCHEMES[source.settings.scheme]
  const secrets: LiveSecret[] = []
  const problems: string[] = []
  source.settings.secrets.forEach((secret, index) => {
    const key = scheme.readKey(source.secretTexts[index] ?? '', source.settings)
    const problem = problemOf(key, source.settings)
    if (problem !== null) problems.push(`PROVIDERS.${source.name}: secret ${secret.id} ${problem}`)
    else if (Buffer.isBuffer(key)) {
      const notAfter = secret.notAfter === undefined ? null : Date.parse(secret.notAfter)
      secrets.push({ id: secret.id, key: createSecretKey(key), notAfter })
    }
  })
  if (problems.length > 0) return { problems }
  const check = scheme.prepare(source.settings, secrets)
  return {
    name: source.name,
    scheme: source.settings.scheme,
    maxBytes: source.maxBytes,
    secrets: secrets.map(({ id, notAfter }) => ({ id, notAfter })),
    signsTime: scheme.signsTime(source.settings),
    signedHeaders: scheme.signedHeaders(source.settings),
    readEvent: scheme.prepareReader(source.settings),
    verify(delivery, now) {
      const finding = check(delivery, now)
      return 'refused' in finding ? finding : toVerified(delivery, finding)
    },
  }
}

function toVerified(delivery: Delivery, finding: { secretId: string; signedId?: string }): VerifiedDelivery {
  return { rawBody: delivery.rawBody, ...finding } as VerifiedDelivery
}

function problemOf(key: Buffer | { problem: string }, { acceptShortSecret }: ProviderSettings): string | null {
  if (!Buffer.isBuffer(key)) return key.problem
  if (key.length >= MIN_KEY_BYTES || (acceptShortSecret === true && key.length > 0)) return null
  return `is shorter than ${MIN_KEY_BYTES} bytes`
}
