import type { Verifier } from '@oncehook/webhooks'
import { type HandlerEvent, readEvent } from '../handler-event.ts'
import type { HandlerMetrics } from '../metrics.ts'
import { type Answer, answerError, type ErrorAnswer } from './answer.ts'
import type { BodyMemory } from './body-memory.ts'
import { type BodyChunks, type BodyLimits, type ReadBody, readBody } from './read-body.ts'

/** A request, whatever the server. */
interface IncomingDelivery {
  readonly method: string
  readonly headers: Headers
  /**
   * Starts to read the body.
   * @throws TypeError if something else has read it
   */
  readonly readBody: () => BodyChunks
}

/** What a responder needs. */
export interface ResponderParts {
  readonly verifier: Verifier
  readonly limits: BodyLimits
  /** A body is in it from its first byte until its answer. */
  readonly memory: BodyMemory
  readonly metrics: HandlerMetrics
  /** Acts on an authentic event, and chooses the answer. */
  readonly process: (event: HandlerEvent, body: Uint8Array) => Promise<Answer>
}

/** Answers one delivery. Rejects only if something else has read its body. */
export type Responder = (delivery: IncomingDelivery) => Promise<Answer>

/** Creates what answers deliveries: reads the body within its limits, verifies it, reads the event, and acts on it. */
export function createResponder({ verifier, limits, memory, metrics, process }: ResponderParts): Responder {
  const reject = (error: ErrorAnswer): Answer => {
    metrics.countRejected(error.status)
    return answerError(error)
  }
  return async ({ method, headers, readBody: start }) => {
    const early = refuseHeaders(method, headers, limits.maxBytes)
    if (early !== null) return reject(early)
    using part = memory.open()
    const body = await readBody(start(), part, limits)
    if (typeof body === 'string') return reject(BODY_ERRORS[body])
    const result = await verifier.verify({ rawBody: body, headers })
    if (result.outcome !== 'verified' && result.outcome !== 'unreadable') return reject(NOT_AUTHENTIC)
    // The verifier reads payments. A body that is JSON but no payment is authentic too.
    const isJson = result.outcome === 'verified' || result.code !== 'invalid_body'
    const event = isJson ? readEvent(signedIdOf(headers), body) : null
    return event === null ? reject(NO_EVENT) : await process(event, body)
  }
}

const NOT_AUTHENTIC: ErrorAnswer = {
  ...{ status: 401, error: 'not_authentic', retry: 'never' },
  message: 'The delivery is not authentic',
}
const NO_EVENT: ErrorAnswer = {
  ...{ status: 400, error: 'not_an_event', retry: 'never' },
  message: 'The body is not a JSON object with a type',
}
const TOO_LARGE: ErrorAnswer = {
  ...{ status: 413, error: 'too_large', retry: 'never', headers: { connection: 'close' } },
  message: 'The body is too large',
}
const BODY_ERRORS: Readonly<Record<Exclude<ReadBody, Buffer>, ErrorAnswer>> = {
  too_large: TOO_LARGE,
  crowded: {
    ...{ status: 503, error: 'overloaded', retry: 'later', retryAfter: 1, headers: { connection: 'close' } },
    message: 'Too many bodies are being received',
  },
  late: {
    ...{ status: 408, error: 'late_body', retry: 'later', headers: { connection: 'close' } },
    message: 'The body did not arrive in time',
  },
  broken: {
    ...{ status: 400, error: 'broken_body', retry: 'later', headers: { connection: 'close' } },
    message: 'The body ended early',
  },
}

function refuseHeaders(method: string, headers: Headers, maxBytes: number): ErrorAnswer | null {
  if (method !== 'POST') {
    const allow = { allow: 'POST' }
    return { status: 405, error: 'not_a_post', message: 'Only POST is allowed', retry: 'never', headers: allow }
  }
  const type = headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  const coding = headers.get('content-encoding')?.trim().toLowerCase() ?? 'identity'
  if (!/^application\/(?:[\w.+-]+\+)?json$/.test(type) || coding !== 'identity') {
    return { status: 415, error: 'not_json', message: 'Only JSON without a content coding is accepted', retry: 'never' }
  }
  return Number(headers.get('content-length') ?? 0) > maxBytes ? TOO_LARGE : null
}

/** The id that the verifier has found in the signed text: that of the header family with a signature. */
function signedIdOf(headers: Headers): string {
  return headers.get(headers.has('webhook-signature') ? 'webhook-id' : 'svix-id') ?? ''
}
