import { formatEntityTag } from '@oncehook/kernel/entity-tag'
import { unavailable } from '@oncehook/kernel/error-codes'
import { AppError } from '@oncehook/kernel/errors'
import { formatTrpcError, toTrpcError } from '@oncehook/kernel/trpc/trpc-errors'
import { LATE, within } from '@oncehook/kernel/within'
import { initTRPC } from '@trpc/server'
import type { UseCases } from './use-cases.ts'

/** The context of a procedure. */
export interface Context {
  readonly useCases: UseCases
  /** The If-Match header of the request. A single-order procedure uses it if its input property is absent. */
  readonly ifMatch: string | undefined
  /** The principal on whose behalf the gateway calls; null if not given, as in release 0.1.0. */
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
export const procedure = t.procedure.use(async ({ next }) => {
  const result = await within(next(), LATE_MS)
  if (result === LATE) throw toTrpcError(unavailable({ reason: 'late' }))
  if (!result.ok && result.error.cause instanceof AppError) throw toTrpcError(result.error.cause)
  return result
})
