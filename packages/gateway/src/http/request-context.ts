import { randomUUID } from 'node:crypto'
import type { Middleware } from 'koa'

const REQUEST_ID = /^[A-Za-z0-9._-]{8,128}$/

/** What every request carries with it. */
export interface RequestState {
  requestId: string
}

/** Takes over the caller's `X-Request-Id` where it is a plain one, else makes one; the answer carries it. */
export const requestContext: Middleware<RequestState> = (ctx, next) => {
  const given = ctx.req.headers['x-request-id']
  ctx.state.requestId = typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID()
  ctx.res.setHeader('X-Request-Id', ctx.state.requestId)
  ctx.res.setHeader('X-Content-Type-Options', 'nosniff')
  return next()
}
