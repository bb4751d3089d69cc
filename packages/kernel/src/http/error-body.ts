import { STATUS_CODES } from 'node:http'
import type { AppError } from '../errors.ts'

/** The body of every error: message, code and request id. */
export function errorBody(error: AppError, requestId: string): string {
  return JSON.stringify({ error: error.message, code: error.code, requestId })
}

/** The same properties in a problem document (RFC 9457). */
export function problemBody({ message, code, status }: AppError, requestId: string): string {
  const title = STATUS_CODES[status] ?? 'Error'
  return JSON.stringify({ type: 'about:blank', title, status, detail: message, error: message, code, requestId })
}

/** Headers of every error response. */
export const ERROR_HEADERS = {
  'Content-Type': 'application/json; charset=utf-8',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
} as const
