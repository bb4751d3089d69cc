import type { ServerResponse } from 'node:http'
import type { AppError } from '../errors.ts'
import { sendEarlyResponse } from './early-response.ts'
import { ERROR_HEADERS, errorBody, problemBody } from './error-body.ts'

/** How to send an error. */
export interface ErrorResponse {
  readonly requestId: string
  /** Sends a problem document (RFC 9457). Default: plain JSON. */
  readonly asProblem?: boolean
  /** Discards an unread request body and closes the connection. Default: only if the error has `Connection: close`. */
  readonly close?: boolean
}

/**
 * Sends an error as the response to a request. Headers that were set before (CORS, RateLimit) are kept. If the response
 * has begun, it cannot be replaced, so its connection is closed.
 */
export function sendError(response: ServerResponse, error: AppError, options: ErrorResponse): Promise<void> {
  const { requestId, asProblem = false, close = error.headers.Connection === 'close' } = options
  if (response.headersSent) {
    response.destroy()
    return Promise.resolve()
  }
  const content = Buffer.from(asProblem ? problemBody(error, requestId) : errorBody(error, requestId))
  response.statusCode = error.status
  setHeaders(response, ERROR_HEADERS)
  if (asProblem) response.setHeader('Content-Type', 'application/problem+json')
  response.setHeader('X-Request-Id', requestId)
  setHeaders(response, error.headers)
  if (close) return sendEarlyResponse(response, content)
  response.setHeader('Content-Length', content.length)
  response.end(response.req.method === 'HEAD' ? undefined : content)
  return Promise.resolve()
}

function setHeaders(response: ServerResponse, headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
}
