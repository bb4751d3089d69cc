import { formatEntityTag } from '@oncehook/kernel/entity-tag'
import { unavailable } from '@oncehook/kernel/error-codes'
import { AppError } from '@oncehook/kernel/errors'
import { formatTrpcError, toTrpcError } from '@oncehook/kernel/trpc/trpc-errors'
import { TIMED_OUT, withTimeout } from '@oncehook/kernel/with-timeout'
import { initTRPC } from '@trpc/server'
import { orderUnreadable } from './errors.ts'
import type { UseCases } from './use-cases.ts'

/** The context of a procedure. */
export interface Context {
  readonly useCases: UseCases
  /** The If-Match header of the request. A single-order procedure uses it if its input property is absent. */
  readonly ifMatch: string | undefined
  /** The principal on whose behalf the gateway calls; null: the gateway itself. */
  readonly principal: string | null
  /** What the procedure adds to the HTTP response (the version for its ETag) and to the log line of the call. */
  readonly answer: { version?: number; facts?: Readonly<Record<string, unknown>> }
}

/** The headers of a successful response. */
export function answerHeaders({ answer }: Context): Record<string, string> {
  return answer.version === undefined ? {} : { ETag: formatEntityTag(answer.version) }
}

const t = initTRPC.context<Context>().create({ isDev: false, errorFormatter: formatTrpcError })

/** Combines procedures into a router. */
export const router = t.router

const LATE_MS = 9_000

/**
 * The base of every procedure. Catalogue errors keep their status, and every call ends within the 10 s of a request.
 * Work that continues after a late answer is safe to request again.
 */
export const procedure = t.procedure.use(async ({ ctx, next }) => {
  const result = await withTimeout(next(), LATE_MS)
  if (result === TIMED_OUT) throw toTrpcError(unavailable({ reason: 'late' }))
  if (result.ok) return result
  const { cause } = result.error
  // The caller can do nothing about it: an operator must.
  if (orderUnreadable.is(cause)) ctx.useCases.orders.unreadable.report(String(cause.details.orderId), cause.details)
  if (cause instanceof AppError) throw toTrpcError(cause)
  return result
})
