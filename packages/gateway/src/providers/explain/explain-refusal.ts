import type {
  CheckSignature,
  Delivery,
  LiveSecret,
  PossibleCause,
  PrepareExplanation,
  ProviderSettings,
  Scheme,
} from '@oncehook/webhooks/providers'
import { endedSecret, rankCauses } from './cause.ts'
import { clockCauseOf, observe } from './observe.ts'
import { findSignedTime, type SignedTime } from './signed-time.ts'

// Each attempt reads the whole body.
const MOST_TRIED_BYTES = 65_536

/** Prepares the explanations of a provider. The two possible attempts: at the signed time, and with expired secrets. */
export const prepareExplanation: PrepareExplanation = (scheme, settings, secrets) => {
  const tries = prepareAttempts(scheme, settings, secrets)
  return ({ rawHeaders, rawBody, query }, now) => {
    const delivery = { rawHeaders, rawBody, query }
    const time = findSignedTime(settings, delivery)
    const seen = observe({ scheme, settings, delivery, now }, time)
    if (rawBody === undefined) return seen
    const proved = rawBody.length > MOST_TRIED_BYTES ? null : tries({ rawHeaders, rawBody, query }, time, now)
    return rankCauses(proved === null ? [] : [{ ...proved, proved: true }], seen, scheme.name)
  }
}

type Attempts = (delivery: Delivery, time: SignedTime | null, now: number) => PossibleCause | null

function prepareAttempts(scheme: Scheme, settings: ProviderSettings, secrets: readonly LiveSecret[]): Attempts {
  if (scheme.fetchesKeys !== undefined || scheme.signsNothing === true) return () => null
  let prepared: { readonly all: CheckSignature; readonly unlimited: CheckSignature } | undefined
  return (delivery, time, now) => {
    prepared ??= {
      all: scheme.prepare(settings, secrets),
      unlimited: scheme.prepare(
        settings,
        secrets.map((secret) => ({ ...secret, notAfter: null })),
      ),
    }
    const clock = clockCauseOf(settings, time, now)
    if (clock !== null) return signerOf(prepared.all, delivery, time?.ms ?? now) === null ? null : clock
    const isOver = secrets.some(({ notAfter }) => notAfter !== null && notAfter <= now)
    const signer = isOver ? signerOf(prepared.unlimited, delivery, now) : null
    return signer === null ? null : endedSecret(signer)
  }
}

function signerOf(check: CheckSignature, delivery: Delivery, now: number): string | null {
  const result = check(delivery, now, fetchNothing)
  if (!(result instanceof Promise)) return 'refused' in result ? null : result.secretId
  result.catch(() => undefined)
  return null
}

const fetchNothing: typeof fetch = () => Promise.reject(new Error('An explanation fetches nothing'))
