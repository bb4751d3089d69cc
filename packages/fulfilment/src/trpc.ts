import { formatEntityTag } from '@oncehook/kernel/entity-tag'
import { unavailable } from '@oncehook/kernel/error-codes'
import { AppError } from '@oncehook/kernel/errors'
import { formatTrpcError, toTrpcError } from '@oncehook/kernel/trpc/trpc-errors'
import { LATE, within } from '@oncehook/kernel/within'
import { initTRPC } from '@trpc/server'
import type { UseCases } from './use-cases.ts'

/** What a procedure gets beside its input. */
export interface Context {
  readonly useCases: UseCases
  /** The header If-Match of the request, which a single-order procedure takes in place of its input member. */
  readonly ifMatch: string | undefined
  /** The principal for whom the gateway calls; null where it names none, as release 0.1.0 does. */
  readonly principal: string | null
  /** What the procedure adds to the HTTP answer (the version behind its ETag) and to the log line of its call. */
  readonly answer: { version?: number; facts?: Readonly<Record<string, unknown>> }
}

/** The headers that a good answer carries. */
export function answerHeaders({ answer }: Context): Record<string, string> {
  return answer.version === undefined ? {} : { ETag: formatEntityTag(answer.version) }
}

const t = initTRPC.context<Context>().create({ isDev: false, errorFormatter: formatTrpcError })

/** Joins procedures into a router. */
export const router = t.router

const LATE_MS = 9_000

/**
 * The base of every procedure: catalogue errors keep their status, and every call ends inside the 10 s of a request.
 * What goes on behind a late answer is safe to be asked for again.
 */
export const procedure = t.procedure.use(async ({ next }) => {
  const result = await within(next(), LATE_MS)
  if (result === LATE) throw toTrpcError(unavailable({ reason: 'late' }))
  if (!result.ok && result.error.cause instanceof AppError) throw toTrpcError(result.error.cause)
  return result
})
