import type { Delivery, VerifiedDelivery } from './delivery.ts'
import { permissionProblems, readPermissions, unsaidOrigin, unsureAmounts } from './events/read-permissions.ts'
import type { Refusal } from './refusal.ts'
import type { Schemes } from './schemes/load-schemes.ts'
import type { AnswerCheck, AnswerHandshake, CheckResult, ConfirmEvent, ReadEvents } from './schemes/scheme.ts'
import { type ProviderSource, readSecrets } from './signatures/read-secrets.ts'
import type { LiveSecret } from './signatures/signature.ts'

/** A configured provider, ready to verify deliveries. */
export interface Provider {
  readonly name: string
  readonly scheme: string
  readonly maxBytes: number
  /** The secrets by name, never by value. `notAfter` in milliseconds. */
  readonly secrets: readonly Pick<LiveSecret, 'id' | 'notAfter'>[]
  /** Whether the signature covers a time. If not, a captured delivery stays valid forever, so its event id must be kept. */
  readonly signsTime: boolean
  /** How long the provider may redeliver an event, in milliseconds after the first delivery. */
  readonly redeliveryMs: number
  /** The properties (JSON Pointers) that name the mode or the account and that its settings do not mention. */
  readonly unsaidOrigin: readonly string[]
  /** The types that its settings map to a success without saying whether an amount is required. */
  readonly unsureAmounts: readonly string[]
  /** The headers that are needed to check a signature, in lower case. */
  readonly signedHeaders: readonly string[]
  /** More headers that the signature of this delivery covers; absent if they are the same for every delivery. */
  readonly coveredHeaders?: (delivery: Delivery) => readonly string[]
  /** The header that contains the secret itself, if there is one. */
  readonly staticTokenHeader?: string
  /** Whether the query is stored. */
  readonly usesQuery: boolean
  /** Whether the signature is in the body, so that no header shows it. */
  readonly signsInBody: boolean
  readonly takesForms: boolean
  /**
   * Verifies a delivery at `now` (milliseconds). Returns a promise only if something has to be fetched, with `fetch`; the
   * promise rejects only with `unavailable`.
   */
  verify(
    delivery: Delivery,
    now: number,
    fetch: typeof globalThis.fetch,
  ): VerificationResult | Promise<VerificationResult>
  readonly readEvents: ReadEvents
  /** The answer to a handshake; null for an ordinary delivery. */
  readonly answerHandshake: AnswerHandshake
  /** The answer to the GET with which the provider checks this endpoint; absent if it does not check. */
  readonly answerCheck?: AnswerCheck
  /** Asks the provider to confirm an event whose signature proves too little; absent if signatures are enough. */
  readonly confirm?: ConfirmEvent
}

/** An authentic delivery, or the reason why it is not authentic. */
type VerificationResult = VerifiedDelivery | { readonly refused: Refusal }

const HOUR_MS = 3_600_000

/** Creates a provider, or lists what is wrong with its settings. No problem quotes a secret. */
export function createProvider(source: ProviderSource, schemes: Schemes): Provider | { readonly problems: string[] } {
  const { name, maxBytes } = source
  const scheme = schemes.get(source.settings.scheme)
  if (scheme === undefined) return { problems: ['the scheme is unknown'] }
  const { secrets, problems } = readSecrets(scheme, source)
  problems.push(...(scheme.problemsOf?.(source.settings) ?? []), ...permissionProblems(scheme, source.settings))
  if (problems.length > 0) return { problems }
  const settings = { ...source.settings, ...readPermissions(scheme, source.settings) }
  const check = scheme.prepare(settings, secrets)
  const answerCheck = scheme.prepareCheck?.(settings, secrets)
  const confirm = scheme.prepareConfirm?.(settings)
  return {
    name,
    scheme: scheme.name,
    maxBytes,
    secrets: secrets.map(({ id, notAfter }) => ({ id, notAfter })),
    signsTime: scheme.signsTime(settings),
    redeliveryMs: scheme.redelivery.hours * HOUR_MS,
    unsaidOrigin: unsaidOrigin(scheme, source.settings),
    unsureAmounts: unsureAmounts(scheme, source.settings),
    signedHeaders: scheme.signedHeaders(settings),
    usesQuery: scheme.usesQuery ?? false,
    signsInBody: scheme.signsInBody ?? false,
    takesForms: scheme.takesForms ?? false,
    readEvents: scheme.prepareReader(settings),
    answerHandshake: scheme.prepareHandshake?.(settings, secrets) ?? (() => null),
    verify(delivery, now, fetch) {
      const result = check(delivery, now, fetch)
      return result instanceof Promise
        ? result.then((found) => toVerificationResult(delivery, found))
        : toVerificationResult(delivery, result)
    },
    ...(answerCheck === undefined ? {} : { answerCheck }),
    ...(confirm === undefined ? {} : { confirm }),
    ...(scheme.staticTokenHeader === undefined ? {} : { staticTokenHeader: scheme.staticTokenHeader }),
    ...(scheme.coveredHeaders === undefined ? {} : { coveredHeaders: scheme.coveredHeaders }),
  }
}

function toVerificationResult(delivery: Delivery, result: CheckResult): VerificationResult {
  if ('refused' in result) return result
  const { rawBody, rawHeaders, query } = delivery
  const { secretId, signedId, transmission } = result
  const verified =
    signedId === undefined
      ? { rawBody, rawHeaders, query, secretId }
      : { rawBody, rawHeaders, query, secretId, signedId }
  return (transmission === undefined ? verified : { ...verified, transmission }) as VerifiedDelivery
}
