import { unauthenticated } from '@oncehook/kernel/http/error-codes'
import type { ActOnBatch } from '../batch/act-on-batch.ts'
import { readBatch } from '../batch/read-batch.ts'
import type { HandlerEvent } from '../handler-event.ts'
import type { Answer, ErrorAnswer } from '../http/answer.ts'
import { type BodyMemory, type BodyPart, receiveBody, refuseHeaders } from '../http/receive-body.ts'
import type { IncomingDelivery, Responder } from '../http/respond.ts'
import type { HandlerMetrics } from '../metrics.ts'
import { answerCall, answerCallError, PROCEDURE } from './answer-call.ts'
import type { CheckedTrpc } from './trpc-options.ts'

export interface CallParts {
  readonly trpc: CheckedTrpc
  readonly bodyTimeoutMs: number
  /** A body is in it from its first byte until all its events have ended. */
  readonly memory: BodyMemory
  readonly metrics: HandlerMetrics
  readonly act: ActOnBatch
}

/**
 * Creates what answers calls of `events.handle`: verifies the token, reads the body within its limits, and acts on each
 * event separately. The answer does not wait for slow events.
 */
export function createCallResponder(parts: CallParts): Responder {
  const { memory, metrics, act } = parts
  const reject = (error: ErrorAnswer): Answer => {
    metrics.countRejected(error.status)
    return answerCallError(error)
  }
  return async (delivery) => {
    const part = memory.open()
    const free = (): void => part[Symbol.dispose]()
    const events = await receiveEvents(parts, delivery, part).catch((error: unknown) => {
      free()
      throw error
    })
    if ('error' in events) {
      free()
      return reject(events)
    }
    const answer = await act(events, parts.trpc.answerMs, free)
    return 'error' in answer ? answerCallError(answer) : answerCall(answer)
  }
}

/** The token is verified before the body is read, and again with the body: it is bound to it. */
async function receiveEvents(
  { trpc, bodyTimeoutMs }: CallParts,
  { method, headers, readBody }: IncomingDelivery,
  part: BodyPart,
): Promise<readonly (HandlerEvent | null)[] | ErrorAnswer> {
  const limits = { maxBytes: trpc.maxBytes, bodyTimeoutMs }
  const early = refuseHeaders(method, headers, limits.maxBytes)
  if (early !== null) return early
  try {
    const token = await trpc.verify(headers.get('authorization') ?? undefined)
    token.checkProcedure(PROCEDURE)
    token.checkCondition(headers.get('if-match') ?? undefined)
    const body = await receiveBody(readBody(), part, limits)
    if ('error' in body) return body
    token.checkInput(body)
    return readBatch(body, trpc.audience) ?? NO_CALL
  } catch (error) {
    if (unauthenticated.is(error)) return NOT_AUTHENTIC
    throw error
  }
}

const NOT_AUTHENTIC: ErrorAnswer = {
  ...{
    status: 401,
    error: 'not_authentic',
    retry: 'never',
    headers: { 'www-authenticate': 'Bearer', connection: 'close' },
  },
  message: 'The service token is not valid for this call',
}
const NO_CALL: ErrorAnswer = {
  ...{ status: 400, error: 'not_a_call', retry: 'never' },
  message: 'The body is not a list of events for this handler',
}
