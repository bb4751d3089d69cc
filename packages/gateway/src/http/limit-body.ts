import { payloadTooLarge } from '@oncehook/kernel/error-codes'
import type { Middleware } from 'koa'
import { readBodyBy } from './answer-deadline.ts'
import type { OrderContext } from './order-context.ts'
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
 * @throws payloadTooLarge, requestTimeout
 */
export async function passOverBody({ req, state }: OrderContext, maxBytes: number): Promise<void> {
  if (req.headers['transfer-encoding'] === undefined) return
  await readBodyBy(req, { maxBytes, endsAt: state.endsAt })
}
