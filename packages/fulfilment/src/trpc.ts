import { invalidRequest, methodNotAllowed, notFound, unavailable } from '@oncehook/kernel/error-codes'
import { AppError, type RetryClass, toAppError } from '@oncehook/kernel/errors'
import { LATE, within } from '@oncehook/kernel/within'
import { initTRPC, TRPCError } from '@trpc/server'
import type { TRPC_ERROR_CODE_KEY } from '@trpc/server/rpc'
import { ZodError } from 'zod'
import { sayIssue } from './orders/order.ts'
import type { UseCases } from './use-cases.ts'

/** What a procedure gets beside its input. */
export interface Context {
  readonly useCases: UseCases
  /** The header If-Match of the request, which a single-order procedure takes in place of its input member. */
  readonly ifMatch: string | undefined
  /** What the procedure adds to the HTTP answer and to the log line of its call. */
  readonly answer: { etag?: string; facts?: Readonly<Record<string, unknown>> }
}

/** What the data of an error tell a caller, beside what tRPC tells. */
export interface ErrorData {
  readonly code: TRPC_ERROR_CODE_KEY
  readonly httpStatus: number
  readonly path?: string
  /** The code of our catalogue. */
  readonly reason: string
  readonly retry: RetryClass
  /** With 412: the current version, null where nothing exists. */
  readonly version?: number | null
}

const CODES: Readonly<Record<number, TRPC_ERROR_CODE_KEY>> = {
  400: 'BAD_REQUEST',
  401: 'UNAUTHORIZED',
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_SUPPORTED',
  409: 'CONFLICT',
  412: 'PRECONDITION_FAILED',
  413: 'PAYLOAD_TOO_LARGE',
  415: 'UNSUPPORTED_MEDIA_TYPE',
  422: 'UNPROCESSABLE_CONTENT',
  428: 'PRECONDITION_REQUIRED',
  500: 'INTERNAL_SERVER_ERROR',
  501: 'NOT_IMPLEMENTED',
  503: 'SERVICE_UNAVAILABLE',
}

/** The tRPC form of a catalogue error, which stays its cause. */
export function toTrpcError(error: AppError): TRPCError {
  return new TRPCError({ code: CODES[error.status] ?? 'INTERNAL_SERVER_ERROR', message: error.message, cause: error })
}

/** The catalogue error behind anything that tRPC reports; what nobody foresaw is `internal`, its message hidden. */
export function fromTrpcError(error: TRPCError): AppError {
  if (error.cause instanceof AppError) return error.cause
  if (error.cause instanceof ZodError) {
    const says = `The input is not valid: ${sayIssue(error.cause)}`
    return invalidRequest({}, { says })
  }
  if (error.code === 'NOT_FOUND') return notFound()
  if (error.code === 'METHOD_NOT_SUPPORTED') return methodNotAllowed()
  if (error.code === 'BAD_REQUEST' || error.code === 'PARSE_ERROR') return invalidRequest({}, { cause: error })
  return toAppError(error.cause ?? error)
}

const t = initTRPC.context<Context>().create({
  isDev: false,
  errorFormatter({ shape, error }) {
    const known = fromTrpcError(error)
    const { version } = known.details as { version?: number | null }
    const data: ErrorData = {
      code: shape.data.code,
      httpStatus: shape.data.httpStatus,
      ...(shape.data.path === undefined ? {} : { path: shape.data.path }),
      reason: known.code,
      retry: known.retry,
      ...(known.status === 412 ? { version: version ?? null } : {}),
    }
    return { message: known.message, code: shape.code, data }
  },
})

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
