import { payloadTooLarge } from '@oncehook/kernel/error-codes'
import { readRawBody } from '@oncehook/kernel/http/raw-body'
import type { Context, Middleware } from 'koa'
import type { RequestState } from './request-context.ts'

/** Refuses what announces more than `maxBytes`, before anything else of the request is looked at. */
export function refuseLargeBody(maxBytes: number): Middleware<RequestState> {
  return (ctx, next) => {
    if (Number(ctx.req.headers['content-length'] ?? 0) <= maxBytes) return next()
    throw payloadTooLarge({ maxBytes }, { headers: { Connection: 'close' } })
  }
}

/**
 * Reads past a body that means nothing to the method (RFC 9110 sections 9.3.1 and 9.3.5); the announced ones are below
 * the limit by then.
 * @throws payloadTooLarge
 */
export async function passOverBody({ req }: Context, maxBytes: number): Promise<void> {
  if (req.headers['transfer-encoding'] !== undefined) await readRawBody(req, maxBytes)
}
