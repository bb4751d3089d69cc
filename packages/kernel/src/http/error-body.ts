import type { AppError } from '../errors.ts'

/** The body of every error: a sentence, its code, the id of the request. */
export function errorBody(error: AppError, requestId: string): string {
  return JSON.stringify({ error: error.message, code: error.code, requestId })
}

/** The headers that every error has beside its own. */
export const ERROR_HEADERS = {
  'Content-Type': 'application/json; charset=utf-8',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
} as const
