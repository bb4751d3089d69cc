import { TRPCError } from '@trpc/server'
import type { TRPC_ERROR_CODE_KEY, TRPC_ERROR_CODE_NUMBER } from '@trpc/server/rpc'
import { ZodError } from 'zod'
import { invalidRequest, methodNotAllowed, notFound } from '../error-codes.ts'
import { AppError, type RetryClass, toAppError } from '../errors.ts'

/** What the data of an error tell a caller, beside what tRPC tells. */
export interface TrpcErrorData {
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
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_SUPPORTED',
  409: 'CONFLICT',
  412: 'PRECONDITION_FAILED',
  413: 'PAYLOAD_TOO_LARGE',
  415: 'UNSUPPORTED_MEDIA_TYPE',
  422: 'UNPROCESSABLE_CONTENT',
  428: 'PRECONDITION_REQUIRED',
  429: 'TOO_MANY_REQUESTS',
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
    return invalidRequest({}, { says: `The input is not valid: ${sayIssue(error.cause)}` })
  }
  if (error.code === 'NOT_FOUND') return notFound()
  if (error.code === 'METHOD_NOT_SUPPORTED') return methodNotAllowed()
  if (error.code === 'BAD_REQUEST' || error.code === 'PARSE_ERROR') return invalidRequest({}, { cause: error })
  return toAppError(error.cause ?? error)
}

/** What tRPC is about to say of an error. */
export interface TrpcErrorShape {
  readonly shape: {
    readonly code: TRPC_ERROR_CODE_NUMBER
    readonly data: { readonly code: TRPC_ERROR_CODE_KEY; readonly httpStatus: number; readonly path?: string }
  }
  readonly error: TRPCError
}

/** The error formatter of every router: tRPC's own members, our code and retry class, no message of the unforeseen. */
export function formatTrpcError({ shape, error }: TrpcErrorShape) {
  const known = fromTrpcError(error)
  const { version } = known.details as { version?: number | null }
  const { code, httpStatus, path } = shape.data
  const data: TrpcErrorData = {
    code,
    httpStatus,
    ...(path === undefined ? {} : { path }),
    reason: known.code,
    retry: known.retry,
    ...(known.status === 412 ? { version: version ?? null } : {}),
  }
  return { message: known.message, code: shape.code, data }
}

/** The first problem that a schema found, as `items.0.quantity: …`; it names members, never values. */
export function sayIssue(error: ZodError): string {
  const issue = error.issues[0]
  const path = (issue?.path ?? []).map((step) => String(step).slice(0, 40)).join('.')
  const what = (issue?.message ?? 'is not valid').replace(/^Invalid input: /, '')
  return path === '' ? what : `${path}: ${what}`
}
