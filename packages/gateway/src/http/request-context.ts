import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Middleware } from 'koa'
import { endOf } from './answer-deadline.ts'

const REQUEST_ID = /^[A-Za-z0-9._-]{8,128}$/

/** What every request carries with it. */
export interface RequestState {
  requestId: string
  /** The id that the caller has given the request, if any: for the log only. */
  clientRequestId?: string | undefined
  /** The instant of `performance.now()` at which the request has to be answered. */
  endsAt: number
}

/** The ids of a request: ours, and the caller's `X-Request-Id` where it is a plain one. */
export type RequestIds = Pick<RequestState, 'requestId' | 'clientRequestId'>

/** Gives a request an id. The caller's own is kept beside it: an id that a stranger chooses proves nothing in a log. */
export function requestIdsOf({ headers }: IncomingMessage): RequestIds {
  const requestId = randomUUID()
  const given = headers['x-request-id']
  return typeof given === 'string' && REQUEST_ID.test(given) ? { requestId, clientRequestId: given } : { requestId }
}

/** The header fields that every answer has. */
export function commonHeaders(requestId: string): Readonly<Record<string, string>> {
  return { 'X-Request-Id': requestId, 'X-Content-Type-Options': 'nosniff' }
}

/** Creates what gives every request its id, which the answer carries, and the end of its waits. */
export function createRequestContext(withinMs: number): Middleware<RequestState> {
  return (ctx, next) => {
    Object.assign(ctx.state, requestIdsOf(ctx.req))
    ctx.state.endsAt = endOf(ctx.req, withinMs)
    ctx.set(commonHeaders(ctx.state.requestId))
    return next()
  }
}
