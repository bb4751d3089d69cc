import { TRPCError } from '@trpc/server'
import { type TRPC_ERROR_CODE_KEY, type TRPC_ERROR_CODE_NUMBER, TRPC_ERROR_CODES_BY_KEY } from '@trpc/server/rpc'
import { ZodError } from 'zod'
import { invalidRequest, methodNotAllowed, notFound } from '../http/error-codes.ts'
import { AppError, type RetryClass, toAppError } from '../http/errors.ts'

export interface TrpcErrorData {
  readonly code: TRPC_ERROR_CODE_KEY
  readonly httpStatus: number
  readonly path?: string
  readonly reason: string
  readonly retry: RetryClass
  /** Only for 412: the current version, or null if nothing exists. */
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

export function toTrpcError(error: AppError): TRPCError {
  return new TRPCError({ code: CODES[error.status] ?? 'INTERNAL_SERVER_ERROR', message: error.message, cause: error })
}

/** Converts any tRPC error to a catalogue error. Unexpected errors become `internal`, with their message hidden. */
export function fromTrpcError(error: TRPCError): AppError {
  if (error.cause instanceof AppError) return error.cause
  if (error.cause instanceof ZodError) {
    return invalidRequest({}, { message: `The input is not valid: ${sayIssue(error.cause)}` })
  }
  if (error.code === 'NOT_FOUND') return notFound()
  if (error.code === 'METHOD_NOT_SUPPORTED') return methodNotAllowed()
  if (error.code === 'BAD_REQUEST' || error.code === 'PARSE_ERROR') return invalidRequest({}, { cause: error })
  return toAppError(error.cause ?? error)
}

export interface TrpcErrorShape {
  readonly shape: {
    readonly code: TRPC_ERROR_CODE_NUMBER
    readonly data: { readonly code: TRPC_ERROR_CODE_KEY; readonly httpStatus: number; readonly path?: string }
  }
  readonly error: TRPCError
}

/**
 * The error formatter of every router: tRPC's own properties, our code and retry class, and no message of unexpected
 * errors.
 */
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

/** What a client is told about a call that no procedure has seen, in the form of the formatter. */
export function describeRefusal(refusal: AppError, path: string) {
  const error = toTrpcError(refusal)
  const shape = {
    code: TRPC_ERROR_CODES_BY_KEY[error.code],
    data: { code: error.code, httpStatus: refusal.status, path },
  }
  return formatTrpcError({ shape, error })
}

const MOST_SAID = 300

/** The first problem found by a schema, as `items.0.quantity: …`. Names properties, never values. */
export function sayIssue(error: ZodError): string {
  const issue = error.issues[0]
  const path = (issue?.path ?? []).map((step) => String(step).slice(0, 40)).join('.')
  const what = (issue?.message ?? 'is not valid').replace(/^Invalid input: /, '').slice(0, MOST_SAID)
  return path === '' ? what : `${path}: ${what}`
}
