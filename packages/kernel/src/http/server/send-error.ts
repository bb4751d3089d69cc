// How a request is refused: the body of the answer in both formats, the answer to a client that may still be sending, and the line in the log.
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import { writeBounded } from '../../log/bounded-lines.ts'
import type { Logger } from '../../log/logger.ts'
import { type AppError, toAppError } from '../errors.ts'

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

const DRAIN_MS = 1_000
const DRAIN_BYTES = 8 * 1024 * 1024

/**
 * Sends a response while the client may still be sending its request. The status and headers must be set. Writes the
 * whole response, discards further input within limits, then closes the connection. Closing at once would reset the
 * connection and lose the response.
 */
async function sendEarlyResponse(response: ServerResponse, body: Buffer): Promise<void> {
  const { req: request } = response
  response.setHeader('Connection', 'close')
  response.setHeader('Content-Length', body.length)
  response.flushHeaders()
  if (request.method !== 'HEAD') response.write(body)
  await drain(request)
  response.end()
}

function drain(request: IncomingMessage): Promise<void> {
  if (request.complete || request.destroyed) return Promise.resolve()
  return new Promise((resolve) => {
    let bytes = 0
    const timer = setTimeout(end, DRAIN_MS)
    function end(): void {
      clearTimeout(timer)
      request.off('data', onData).off('end', end).off('close', end)
      resolve()
    }
    function onData(chunk: Buffer): void {
      bytes += chunk.length
      if (bytes > DRAIN_BYTES) end()
    }
    request.on('data', onData).on('end', end).on('close', end).resume()
  })
}

/** The body of every error: message, code and request id. */
export function errorBody(error: AppError, requestId: string): string {
  return JSON.stringify({ error: error.message, code: error.code, requestId })
}

/** The same properties in a problem document (RFC 9457). */
function problemBody({ message, code, status }: AppError, requestId: string): string {
  const title = STATUS_CODES[status] ?? 'Error'
  return JSON.stringify({ type: 'about:blank', title, status, detail: message, error: message, code, requestId })
}

export const ERROR_HEADERS = {
  'Content-Type': 'application/json; charset=utf-8',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
} as const

/** A refused request. It contains nothing chosen by the client except the method and a well-formed request id. */
export interface RefusedRequest {
  readonly requestId: string
  /** The request id from the client, if it is well-formed. */
  readonly clientRequestId?: string | undefined
  readonly error: AppError
  /** Absent if the request could not be parsed. */
  readonly method?: string | undefined
  /** The route pattern. Default: unknown. */
  readonly route?: string | undefined
  readonly principal?: string | undefined
  readonly ms?: number
}

const MAX_METHOD = 16

/**
 * Logs why a request failed, and returns the error to send. Only an error that no catalogue has is our own: anybody can cause the others.
 */
export function logFailure(logger: Logger, thrown: unknown, request: Omit<RefusedRequest, 'error'>): AppError {
  const error = toAppError(thrown)
  if (error.code === 'internal') logInternal(logger, thrown, request)
  else logRefused(logger, { ...request, error })
  return error
}

/** Anybody who finds such an error can cause it again and again. */
function logInternal(logger: Logger, thrown: unknown, request: Omit<RefusedRequest, 'error'>): void {
  const { requestId, clientRequestId, route = 'unknown' } = request
  const write = (line: object): void => logger.error(line, 'request.failed')
  const one = (): void => write({ requestId, clientRequestId, error: thrown })
  writeBounded(logger, 'request.failed', { route, code: 'internal' }, { one, many: write })
}

/**
 * Writes the log line of a refused request with the request id from its response. Never logs the body, headers or path. Of a flood, it counts
 * most.
 */
export function logRefused(logger: Logger, refused: RefusedRequest): void {
  const { requestId, clientRequestId, error, method, route = 'unknown', principal, ms } = refused
  const { status, code, details, cause } = error
  const line = {
    ...details,
    requestId,
    clientRequestId,
    method: method?.slice(0, MAX_METHOD),
    route,
    ...(principal === undefined ? {} : { principal }),
    status,
    code,
    ms,
  }
  // The client has asked for this answer, to learn whether an order exists or has changed: nobody has to look.
  const isAsked = status === 412
  const shown = status >= 500 && cause !== undefined ? { ...line, error } : line
  writeBounded(
    logger,
    'request.refused',
    { route, status, code },
    {
      one: () => logger[isAsked ? 'info' : 'warn'](shown, 'request.refused'),
      many: (counted) => logger[isAsked ? 'info' : 'warn'](counted, 'request.refused'),
    },
  )
}
