import type { PaymentEvent } from '@oncehook/webhooks/signing/payment-event'
import {
  type SignedDelivery,
  type Signer,
  type SigningRequest,
  type SigningSettings,
  signDelivery,
} from '@oncehook/webhooks/signing/signer'
import { signTampered, type TamperedPart } from './tampering.ts'

export interface PaymentProviderDeps {
  readonly fetch: typeof fetch
  /** Milliseconds since 1970, with fractions, because it also measures response times. */
  readonly now: () => number
  readonly sleep: (ms: number) => Promise<void>
}

export interface WebhookEndpoint {
  /** The full URL, such as `http://127.0.0.1:8080/api/webhooks/acme`. */
  readonly url: string
  readonly signer: Signer
  readonly secret: string
  readonly settings?: SigningSettings
  /** The response timeout. Default: 10 s, as for most providers. */
  readonly timeoutMs?: number
  /** The error of the provider's clock. */
  readonly skewMs?: number
}

export interface Message {
  readonly eventId: string
  readonly body: Uint8Array
}

/** The result of a delivery. Without a response, `status` is null and `failure` is the reason. */
export interface DeliveryReport {
  readonly eventId: string
  readonly status: number | null
  readonly body: string
  readonly ms: number
  readonly failure: string | null
}

interface Pace {
  /** The maximum number of concurrent deliveries. */
  readonly parallel: number
  /** Deliveries started per second, up to `parallel` at once. Default: as fast as possible. */
  readonly perSecond?: number
}

export type PaymentProvider = ReturnType<typeof createPaymentProvider>

/** A payment provider that builds, signs and posts like a real one, but never retries. */
export function createPaymentProvider(deps: PaymentProviderDeps, endpoint: WebhookEndpoint) {
  const deliver = (message: Message, tampered?: TamperedPart): Promise<DeliveryReport> => {
    const signed = sign(endpoint, message, { now: deps.now(), tampered })
    return post(deps, endpoint, { eventId: message.eventId, ...signed })
  }
  return {
    /** The event in the format of the scheme. */
    write: (event: PaymentEvent): Message => ({ eventId: event.id, body: endpoint.signer.writeEvent(event) }),
    /**
     * Signs a message as of now and posts it. Does not reject if there is no response. Does not follow redirects.
     * @throws SigningError if signing fails
     */
    deliver: async (message: Message, tampered?: TamperedPart) => deliver(message, tampered),
    /** Delivers a list in order at a pace. The reports have the same order. */
    deliverAll: (messages: readonly Message[], pace: Pace, tampered?: TamperedPart) =>
      runPaced(
        deps,
        pace,
        messages.map((message) => async () => deliver(message, tampered)),
      ),
  }
}

function sign(
  { signer, secret, settings = {}, skewMs = 0 }: WebhookEndpoint,
  { eventId, body }: Message,
  { now, tampered }: { now: number; tampered: TamperedPart | undefined },
): SignedDelivery {
  const request: SigningRequest = { body, secret, now: now + skewMs, eventId, settings }
  return tampered ? signTampered(signer, request, tampered) : signDelivery(signer, request)
}

async function post(
  { fetch, now }: PaymentProviderDeps,
  { url, timeoutMs = 10_000 }: WebhookEndpoint,
  { eventId, headers, body, query, contentType }: SignedDelivery & { eventId: string },
): Promise<DeliveryReport> {
  const begun = now()
  try {
    const response = await fetch(query === '' ? url : `${url}?${query}`, {
      method: 'POST',
      headers: [['content-type', contentType], ['user-agent', 'oncehook-simulator'], ...toPairs(headers)],
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    })
    return { eventId, status: response.status, body: await response.text(), ms: now() - begun, failure: null }
  } catch (error) {
    return { eventId, status: null, body: '', ms: now() - begun, failure: describeFailure(error) }
  }
}

function toPairs(headers: SignedDelivery['headers']): [string, string][] {
  return headers.map(([name, value]) => [name, value])
}

/** The code of a socket error is in the cause of the error from fetch. */
function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  if (error.name === 'TimeoutError') return 'timeout'
  const cause: unknown = error.cause
  return cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : error.message
}

async function runPaced<T>(deps: PaymentProviderDeps, pace: Pace, tasks: readonly (() => Promise<T>)[]): Promise<T[]> {
  const begun = deps.now()
  const intervalMs = pace.perSecond ? 1000 / pace.perSecond : 0
  const results: T[] = []
  const queue = tasks.entries()
  const work = async (): Promise<void> => {
    for (const [index, task] of queue) {
      const wait = begun + index * intervalMs - deps.now()
      if (wait > 0) await deps.sleep(wait)
      results[index] = await task()
    }
  }
  await Promise.all(Array.from({ length: Math.min(pace.parallel, tasks.length) }, work))
  return results
}
