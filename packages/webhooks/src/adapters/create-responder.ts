import { types } from 'node:util'
import type { Verifier } from '../create-verifier.ts'
import type { DeliveryHeaders } from '../raw-headers.ts'
import type { Handshake, Refused, Undecided, Unreadable, Verified } from '../verification.ts'
import { type BodyChunks, readRawBody } from './read-raw-body.ts'

/** An authentic delivery, as an adapter hands it over. */
interface AcceptedDelivery extends Verified {
  /** The exact bytes that were verified: for what `events` leaves out. */
  readonly rawBody: Uint8Array
}

/**
 * Acts on an authentic delivery. When it returns or resolves, the provider gets 200 (401 if there are `refusedItems`) and does not deliver again: store
 * the events first. When it throws or rejects, the framework handles the error, usually with 500, and the provider
 * delivers again.
 */
export type OnVerified = (delivery: AcceptedDelivery) => void | Promise<void>

/** The body is larger than the limit, so it was not verified. */
interface TooLarge {
  readonly outcome: 'too_large'
  readonly status: 413
  readonly maxBytes: number
}

/** A delivery that is not accepted. */
type Rejection = Refused | Unreadable | Undecided | TooLarge

/** The options of an adapter. `Incoming` is what the framework passes for a request. */
export interface AdapterOptions<Incoming> {
  /** The largest body that is read, in bytes. Default: 1,048,576. */
  readonly maxBytes?: number
  /**
   * Is called with each delivery that is not accepted, before the answer is sent: for your log. The answer waits until it
   * resolves. When it throws or rejects, the framework handles the error.
   */
  readonly onRejected?: (rejection: Rejection) => void | Promise<void>
  /**
   * Returns the address of the client, for the `from` of the verifier. Behind a proxy, that is not the address of the
   * connection. When it throws, the framework handles the error. Default: the verifier gets no address.
   */
  readonly from?: (request: Incoming) => string | null | undefined
}

/**
 * Creates what a framework mounts. `Incoming` is what the framework passes for a request.
 * @throws RangeError if `maxBytes` is not a positive integer
 */
export type Adapter<Incoming, Mounted> = (
  verifier: Verifier,
  onVerified: OnVerified,
  options?: AdapterOptions<Incoming>,
) => Mounted

/** A request, whatever the server. */
export interface WebhookRequest {
  readonly method: string
  readonly url: string
  readonly headers: DeliveryHeaders
  /**
   * Starts to read the raw body. Called at most once.
   * @throws TypeError if something else has read it
   */
  readonly readBody: () => BodyChunks
  /** Returns the address of the client, if it is known. */
  readonly readFrom: () => string | null | undefined
}

interface WebhookAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Null: no body. */
  readonly body: string | null
}

/** Answers one request. Rejects only if `onVerified` or `onRejected` does, or the body cannot be read. */
type Responder = (request: WebhookRequest) => Promise<WebhookAnswer>

/**
 * Creates what all adapters share: read the raw body up to the limit, verify it, act on it, choose the answer. Nothing
 * is parsed before it is verified.
 * @throws RangeError if `maxBytes` is not a positive integer
 */
export function createResponder(
  verifier: Verifier,
  onVerified: OnVerified,
  { maxBytes = 1_048_576, onRejected }: AdapterOptions<never> = {},
): Responder {
  // No length is larger than NaN: it would be no limit.
  if (!(Number.isSafeInteger(maxBytes) && maxBytes > 0)) throw new RangeError('maxBytes must be a positive integer')
  return async ({ method, url, headers, readBody, readFrom }) => {
    if (method !== 'POST') return answerOther(method === 'GET' ? verifier.answerCheck(url) : null)
    const reject = async (rejection: Rejection): Promise<WebhookAnswer> => {
      await withoutStatus(() => onRejected?.(rejection))
      return answerJson(rejection.status, JSON.stringify({ error: messageOf(rejection) }))
    }
    const rawBody = await readRawBody(readBody(), maxBytes)
    if (rawBody === null) return await reject({ outcome: 'too_large', status: 413, maxBytes })
    const from = await withoutStatus(() => addressOf(readFrom()))
    const result = await verifier.verify({ rawBody, headers, url, ...from })
    if (result.outcome === 'handshake') return answerHandshake(result)
    if (result.outcome !== 'verified') return await reject(result)
    await withoutStatus(() => onVerified({ ...result, rawBody }))
    return answerVerified(result)
  }
}

/**
 * Frameworks answer with the status that an error carries, even with 200: the provider would not deliver again. And they
 * write to the error: Koa fails at one that is frozen, and the process ends.
 * @throws what `call` throws, or an error without a status instead
 */
async function withoutStatus<Result>(call: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await call()
  } catch (error) {
    if (isPlainError(error)) throw error
    const reason = types.isNativeError(error) ? error.message : 'it threw something that is not an error'
    throw new Error(`The webhook handler failed: ${reason}`, { cause: error })
  }
}

function isPlainError(error: unknown): boolean {
  return error instanceof Error && Object.isExtensible(error) && !('status' in error) && !('statusCode' in error)
}

function addressOf(from: string | null | undefined): { readonly from?: string } {
  return from ? { from } : {}
}

function answerOther(check: Handshake | null): WebhookAnswer {
  if (check !== null) return answerHandshake(check)
  const { status, headers, body } = answerJson(405, JSON.stringify({ error: 'Only POST is allowed' }))
  return { status, headers: { ...headers, allow: 'POST' }, body }
}

function answerHandshake({ status, body, contentType }: Handshake): WebhookAnswer {
  if (body === undefined) return { status, headers: {}, body: null }
  const answer = answerJson(status, body)
  return contentType === undefined ? answer : { ...answer, headers: { ...answer.headers, 'content-type': contentType } }
}

function answerJson(status: number, body: string): WebhookAnswer {
  return { status, headers: { 'content-type': 'application/json', 'cache-control': 'no-store' }, body }
}

function answerVerified({ status, refusedItems }: Verified): WebhookAnswer {
  const body =
    refusedItems === undefined ? { received: true } : { error: 'Some items of the delivery are not authentic' }
  return answerJson(status, JSON.stringify(body))
}

/** What the sender may know. */
function messageOf(rejection: Rejection): string {
  switch (rejection.outcome) {
    case 'refused':
      return 'The delivery is not authentic'
    case 'unreadable':
      return rejection.message
    case 'undecided':
      return 'The delivery cannot be verified now: send it again later'
    case 'too_large':
      return `The body is larger than ${rejection.maxBytes} bytes`
  }
}
