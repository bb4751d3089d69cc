import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import {
  badRequest,
  headersTooLarge,
  methodNotImplemented,
  payloadTooLarge,
  requestTimeout,
  uriTooLong,
} from '../error-codes.ts'
import type { AppError } from '../errors.ts'

/** Makes the id that an error body carries where no request was understood. */
export type MakeRequestId = () => string

const MAX_TARGET = 8_192

/**
 * Wraps a handler, so that it sees only requests that an origin server may take (RFC 9112 sections 2.3, 3.2, 6.1): Node
 * lets through repeated or malformed Host lines, other versions, and chunked on HTTP/1.0.
 */
export function guardFraming(handler: RequestListener, makeRequestId: MakeRequestId): RequestListener {
  return (request, response) => {
    const refusal = framingRefusal(request)
    if (refusal === null) handler(request, response)
    else writeRefusal({ request, response, refusal, requestId: makeRequestId() })
  }
}

/** Answers with the common error body what Node would answer by itself, or not at all. */
export function answerBrokenHttp(server: Server, makeRequestId: MakeRequestId): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy()
    else endWith(socket, { refusal: refusalOf(error), requestId: makeRequestId() })
  })
  const refuseTunnel = (_request: IncomingMessage, socket: Duplex): void =>
    endWith(socket, { refusal: methodNotImplemented(), requestId: makeRequestId() })
  server.on('connect', refuseTunnel)
}

/** The body of an error without a handler: the same three members as everywhere. */
export function errorBody(error: AppError, requestId: string): string {
  return JSON.stringify({ error: error.message, code: error.code, requestId })
}

// RFC 3986 section 3.2.2: a registered name, an IPv4 address or a bracketed IP literal, with an optional port.
const HOST = /^(?:\[[0-9A-Fa-f:.]+\]|(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*)(?::\d{0,5})?$/

function framingRefusal(request: IncomingMessage): AppError | null {
  const { httpVersion, rawHeaders, url = '' } = request
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return badRequest({ reason: 'version' })
  if (url.length > MAX_TARGET) return uriTooLong()
  if (!isKnownTarget(request)) return badRequest({ reason: 'target' })
  const counts = countLines(rawHeaders)
  if (counts.host > 1 || (counts.host === 0 && httpVersion === '1.1')) return badRequest({ reason: 'host' })
  if (!HOST.test(request.headers.host ?? '')) return badRequest({ reason: 'host' })
  if (counts['content-type'] > 1 || counts.authorization > 1) return badRequest({ reason: 'header repeated' })
  return codingRefusal(request, counts['transfer-encoding'])
}

function codingRefusal({ headers, httpVersion }: IncomingMessage, lines: number): AppError | null {
  const coding = headers['transfer-encoding']
  if (coding === undefined) return null
  if (httpVersion === '1.0' || lines > 1) return badRequest({ reason: 'transfer-encoding' })
  return coding.toLowerCase() === 'chunked' ? null : methodNotImplemented({}, { says: 'Only chunked is implemented' })
}

/** A path, or `*` for OPTIONS (RFC 9112 section 3.2); escapes must be whole. */
function isKnownTarget({ url = '', method }: IncomingMessage): boolean {
  if (url === '*') return method === 'OPTIONS'
  return url.startsWith('/') && !/%(?![0-9A-Fa-f]{2})/.test(url)
}

const ONCE = ['host', 'content-type', 'authorization', 'transfer-encoding'] as const

function countLines(rawHeaders: readonly string[]): Record<(typeof ONCE)[number], number> {
  const counts = { host: 0, 'content-type': 0, authorization: 0, 'transfer-encoding': 0 }
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]?.toLowerCase()
    for (const one of ONCE) if (name === one) counts[one] += 1
  }
  return counts
}

function refusalOf({ code }: NodeJS.ErrnoException): AppError {
  if (code === 'HPE_HEADER_OVERFLOW') return headersTooLarge()
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return payloadTooLarge()
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return requestTimeout()
  return badRequest({ reason: code })
}

interface Refused {
  readonly refusal: AppError
  readonly requestId: string
}

function writeRefusal(refused: Refused & { request: IncomingMessage; response: ServerResponse }): void {
  const { request, response, refusal, requestId } = refused
  const body = errorBody(refusal, requestId)
  response.writeHead(refusal.status, {
    ...refusal.headers,
    ...BODY_HEADERS,
    'Content-Length': Buffer.byteLength(body),
    'X-Request-Id': requestId,
    Connection: 'close',
  })
  response.end(request.method === 'HEAD' ? undefined : body)
}

const BODY_HEADERS = {
  'Content-Type': 'application/json; charset=utf-8',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
}

const REASONS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  413: 'Payload Too Large',
  431: 'Request Header Fields Too Large',
  501: 'Not Implemented',
}

function endWith(socket: Duplex, { refusal, requestId }: Refused): void {
  const body = errorBody(refusal, requestId)
  const lines = [
    `HTTP/1.1 ${refusal.status} ${REASONS[refusal.status]}`,
    ...Object.entries(BODY_HEADERS).map(([name, value]) => `${name}: ${value}`),
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    `Date: ${new Date().toUTCString()}`,
    'Connection: close',
  ]
  socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`)
}
