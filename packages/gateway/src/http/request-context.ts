import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Middleware } from 'koa'
import { endOf } from './answer-deadline.ts'

const REQUEST_ID = /^[A-Za-z0-9._-]{8,128}$/

/** What every request carries with it. */
export interface RequestState {
  requestId: string
  /** The instant of `performance.now()` at which the request has to be answered. */
  endsAt: number
}

/** The caller's `X-Request-Id` where it is a plain one, else a new one. */
export function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID()
}

/** The header fields that every answer has. */
export function commonHeaders(requestId: string): Readonly<Record<string, string>> {
  return { 'X-Request-Id': requestId, 'X-Content-Type-Options': 'nosniff' }
}

/** Creates what gives every request its id, which the answer carries, and the end of its waits. */
export function createRequestContext(withinMs: number): Middleware<RequestState> {
  return (ctx, next) => {
    ctx.state.requestId = requestIdOf(ctx.req)
    ctx.state.endsAt = endOf(ctx.req, withinMs)
    ctx.set(commonHeaders(ctx.state.requestId))
    return next()
  }
}
