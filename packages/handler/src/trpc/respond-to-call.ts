import { unauthenticated } from '@oncehook/kernel/http/error-codes'
import { withTimeout } from '@oncehook/kernel/time/waits'
import type { HandlerEvent } from '../handler-event.ts'
import type { Answer, ErrorAnswer } from '../http/answer.ts'
import { type BodyMemory, type BodyPart, receiveBody, refuseHeaders } from '../http/receive-body.ts'
import type { IncomingDelivery, Responder } from '../http/respond.ts'
import type { HandlerMetrics } from '../metrics.ts'
import type { ProcessEvent } from '../process-event.ts'
import { answerCall, answerCallError, PROCEDURE, refuseEvent } from './answer-call.ts'
import { readBatch } from './read-batch.ts'
import type { CheckedTrpc } from './trpc-options.ts'

export interface CallParts {
  readonly trpc: CheckedTrpc
  readonly bodyTimeoutMs: number
  /** How many events of a call are acted on at the same time. The others wait in the call, and take no place of others. */
  readonly concurrency: number
  /** A body is in it from its first byte until all its events have ended. */
  readonly memory: BodyMemory
  readonly metrics: HandlerMetrics
  readonly process: ProcessEvent
}

/**
 * Creates what answers calls of `events.handle`: verifies the token, reads the body within its limits, and acts on each
 * event separately. The answer does not wait for slow events.
 */
export function createCallResponder(parts: CallParts): Responder {
  const { memory, metrics } = parts
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
    const said = await actOnEach(parts, events, free)
    const [first] = said
    // The gateway then waits with everything that it has for this handler, as it does by `https`.
    if (first !== undefined && 'error' in first && said.every(isAboutHandler)) return answerCallError(first)
    return answerCall(said.map((one) => ('error' in one ? refuseEvent(one) : { done: true })))
  }
}

/**
 * Acts on the events, and resolves when they are done, or when it is time to answer. What has begun by then continues,
 * and what has not does not begin. Calls `then` when nothing runs any more.
 */
async function actOnEach(
  { trpc, concurrency, metrics, process }: CallParts,
  events: readonly (HandlerEvent | null)[],
  then: () => unknown,
): Promise<readonly Said[]> {
  const said = events.map((): Said => UNFINISHED)
  const queue = events.entries()
  let isOver = false
  const act = async (): Promise<void> => {
    for (const [index, one] of queue) {
      if (isOver) return
      if (one === null) metrics.countRejected(NO_EVENT.status)
      said[index] = one === null ? NO_EVENT : await process(one)
    }
  }
  const acting = Promise.allSettled(Array.from({ length: Math.min(concurrency, events.length) }, act))
  void acting.then(then)
  await withTimeout(acting, trpc.answerMs)
  isOver = true
  return [...said]
}

type Said = Awaited<ReturnType<ProcessEvent>>

/** By `https`, such an answer says that the handler is unavailable. An event that still runs does not. */
function isAboutHandler(said: Said): boolean {
  return 'error' in said && said.status === 503 && said !== UNFINISHED
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
const NO_EVENT: ErrorAnswer = {
  ...{ status: 400, error: 'not_an_event', retry: 'never' },
  message: 'The event has no valid key or type',
}
const UNFINISHED: ErrorAnswer = {
  ...{ status: 503, error: 'unfinished', retry: 'later' },
  message: 'The event is still being processed',
}
