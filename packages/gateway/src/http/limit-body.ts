import { payloadTooLarge } from '@oncehook/kernel/error-codes'
import type { Middleware } from 'koa'
import { readBodyBy } from './answer-deadline.ts'
import type { OrderContext } from './orders/order-context.ts'
import type { RequestState } from './request-context.ts'

/** Rejects a request that announces more than `maxBytes`, before anything else of the request is checked. */
export function refuseLargeBody(maxBytes: number): Middleware<RequestState> {
  return (ctx, next) => {
    if (Number(ctx.req.headers['content-length'] ?? 0) <= maxBytes) return next()
    throw payloadTooLarge({ maxBytes }, { headers: { Connection: 'close' } })
  }
}

/**
 * Reads and discards a body that has no meaning for the method (RFC 9110 sections 9.3.1 and 9.3.5). Announced lengths were
 * already checked against the limit.
 * @throws payloadTooLarge, requestTimeout
 */
export async function passOverBody({ req, state }: OrderContext, maxBytes: number): Promise<void> {
  if (req.headers['transfer-encoding'] === undefined) return
  await readBodyBy(req, { maxBytes, endsAt: state.endsAt })
}
