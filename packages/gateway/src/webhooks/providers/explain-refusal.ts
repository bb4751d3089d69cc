import type {
  Cause,
  CheckSignature,
  Delivery,
  LiveSecret,
  PossibleCause,
  PrepareExplanation,
  ProviderSettings,
  Scheme,
} from '@oncehook/webhooks/providers'
import { clockCauseOf, findSignedTime, observe, type SignedTime } from './observe.ts'

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

export function endedSecret(id: string): PossibleCause {
  return {
    cause: 'secret_ended',
    message: `It is signed with the secret ${id}, which has expired (notAfter)`,
    fix: 'Switch the provider to the new secret, or extend notAfter',
  }
}

/** Returns the proved causes. If there are none, returns all possible causes, and "another secret" if none of them is clear. */
export function rankCauses(proved: readonly Cause[], seen: readonly Cause[], scheme: string): Cause[] {
  if (proved.length > 0) return [...proved]
  // A body from a test environment or an old time is rarely the only cause.
  const clear = seen.filter(({ cause }) => cause !== 'test_mode' && cause !== 'clock')
  if (clear.length > 0) return [...seen]
  const unknown: Cause = {
    cause: 'unknown',
    proved: false,
    message: `The signature was made with another ${scheme} secret, or for other bytes`,
    fix: 'Compare the secret with the one that the provider shows for this URL, and the body with the one that the provider shows as sent',
  }
  return [...seen, unknown]
}
