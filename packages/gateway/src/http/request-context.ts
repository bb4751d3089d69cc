import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Middleware } from 'koa'

const REQUEST_ID = /^[A-Za-z0-9._-]{8,128}$/

/** What every request carries with it. */
export interface RequestState {
  requestId: string
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

/** Gives every request its id; the answer carries it. */
export const requestContext: Middleware<RequestState> = (ctx, next) => {
  ctx.state.requestId = requestIdOf(ctx.req)
  ctx.set(commonHeaders(ctx.state.requestId))
  return next()
}
