import type { AppError } from '../errors.ts'

/** The body of every error: message, code and request id. */
export function errorBody(error: AppError, requestId: string): string {
  return JSON.stringify({ error: error.message, code: error.code, requestId })
}

/** Headers of every error response. */
export const ERROR_HEADERS = {
  'Content-Type': 'application/json; charset=utf-8',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
} as const
