// Between `node:http` and the services: every request that reaches a service is unambiguous, and every answer that refuses one is in our
// format. A request passes in this order: framing that two readers could understand differently is refused, then an unusable
// target or host, then a host that is not the listener's; requests of one connection are answered one after the other. What
// `node:http` could not parse never becomes a request: it is answered on the socket itself (`answerUnparsed` and below).
import { type IncomingMessage, type RequestListener, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import {
  badRequest,
  expectationFailed,
  headersTooLarge,
  hostUnknown,
  httpVersionNotSupported,
  methodNotImplemented,
  payloadTooLarge,
  requestTimeout,
} from '../error-codes.ts'
import type { AppError } from '../errors.ts'
import { connectionOf, noteRequest } from './connections.ts'
import type { CallsByOwnName } from './own-names.ts'
import { deferContinue } from './raw-body.ts'
import { isHost, MAX_TARGET_BYTES, readTarget } from './request-target.ts'
import { ERROR_HEADERS, errorBody, type RefusedRequest, sendError } from './send-error.ts'

export interface GuardOptions {
  readonly handler: RequestListener
  /** Default: any name. */
  readonly isOwnName?: CallsByOwnName
  /** Creates the id of an error response if no request could be parsed. */
  readonly makeRequestId: () => string
  readonly onRefused: (refused: Pick<RefusedRequest, 'requestId' | 'error' | 'method'>) => void
}

/** Parts of a listener for untrusted clients. Pass them to `listen`. */
export interface Guarded {
  readonly handler: RequestListener
  readonly prepare: (server: Server) => void
}

/**
 * Guards a handler so that it only sees requests that an origin server may accept (RFC 9112 sections 2.3, 3, 6 and
 * 9.3), one at a time per connection. Node accepts repeated or malformed Host lines, other HTTP versions, and chunked
 * on HTTP/1.0. Requests that Node would answer itself, or not at all, get the common error body.
 */
export function guardFraming(options: GuardOptions): Guarded {
  const pipeline = createRequestPipeline(({ method }) =>
    options.onRefused({ requestId: options.makeRequestId(), error: badRequest({ reason: 'pipelined' }), method }),
  )
  const refuse = createRefuse(options)
  const { isOwnName = () => true } = options
  const handler: RequestListener = (request, response) =>
    pipeline.serialize(request, () => {
      const refusal = takeRequest(request) ?? (isOwnName(request) ? null : hostUnknown())
      if (refusal === null) options.handler(request, response)
      else refuse(response, refusal)
    })
  return { handler, prepare: (server) => answerUnparsed({ server, pipeline, refuse, ...options }) }
}

/** Checks a request; null if it is acceptable. Normalises its target for handlers. */
function takeRequest(request: IncomingMessage): AppError | null {
  const { httpVersion, headers } = request
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return versionRefusal(request)
  const target = readTarget(request, MAX_TARGET_BYTES)
  if (typeof target !== 'string') return target
  if (request.rawHeaders.length > 2 * MAX_HEADER_LINES) return headersTooLarge()
  const counts = countLines(request.rawHeaders)
  if (counts.host > 1 || (counts.host === 0 && httpVersion === '1.1')) return badRequest({ reason: 'host' })
  if (!isHost(headers.host ?? '')) return badRequest({ reason: 'host' })
  if (counts['content-type'] > 1 || counts.authorization > 1) return badRequest({ reason: 'header repeated' })
  const refusal = codingRefusal(request, counts['transfer-encoding'])
  if (refusal === null) request.url = target
  return refusal
}

// Node limits the bytes of names and values but not their number, and silently drops lines beyond 2,000, even a
// second Host or an If-Match.
const MAX_HEADER_LINES = 500

const ONCE = ['host', 'content-type', 'authorization', 'transfer-encoding'] as const

function countLines(rawHeaders: readonly string[]): Record<(typeof ONCE)[number], number> {
  const counts = { host: 0, 'content-type': 0, authorization: 0, 'transfer-encoding': 0 }
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? ''
    for (const one of ONCE) if (name.length === one.length && name.toLowerCase() === one) counts[one] += 1
  }
  return counts
}

function createRefuse({ makeRequestId, onRefused }: GuardOptions): Refuse {
  return (response, refusal) => {
    const requestId = makeRequestId()
    onRefused({ requestId, error: refusal, method: response.req.method })
    void sendError(response, refusal, { requestId, close: true })
  }
}

// Each may hold 16 KiB of headers and 64 KiB of a body. Few clients send a second one before the first is answered.
const MOST_OPEN = 8

/** Creates the order of answers. `onTooMany` is called with each request that closes its connection. */
function createRequestPipeline(onTooMany: (request: IncomingMessage) => void) {
  return {
    /**
     * Runs a handler when all earlier requests of its connection are answered, unless the connection is closed. Node passes on
     * pipelined requests at once, but only safe ones may run in parallel (RFC 9112 section 9.3.2). A connection with too many open
     * requests is closed, because Node would keep them all in memory. The client may retry unanswered requests.
     */
    serialize(request: IncomingMessage, handle: () => void): void {
      const { socket } = request
      // Node continues to process input it has already read, even if the connection is closed.
      if (socket.destroyed) return
      const connection = connectionOf(socket)
      if (connection.unanswered.length > MOST_OPEN) {
        socket.destroy()
        onTooMany(request)
        return
      }
      const earlier = connection.unanswered.at(-2)
      if (earlier === undefined) handle()
      else {
        void ended(earlier).then(() => {
          if (!socket.destroyed && (request.complete || !connection.isBroken)) handle()
        })
      }
    },
    /**
     * Accepts nothing more from a connection after invalid input. Waits until every complete request is answered. Resolves to the
     * response of the incomplete request, which may already have started, or to null if there is none; at a second call, to
     * undefined.
     */
    async abort(socket: Duplex): Promise<ServerResponse | null | undefined> {
      const connection = connectionOf(socket)
      if (connection.isBroken) return undefined
      connection.isBroken = true
      const { latest, unanswered } = connection
      const unfinished = latest?.req.complete === false ? latest : null
      // They are answered in order, so the last one ends after all others.
      const complete = unanswered.findLast((response) => response !== unfinished)
      if (complete !== undefined) await ended(complete)
      return unfinished
    },
  }
}

function ended(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    if (response.closed) resolve()
    else response.on('close', resolve)
  })
}

type Refuse = (response: ServerResponse, refusal: AppError) => void

interface UnparsedOptions extends Pick<GuardOptions, 'makeRequestId' | 'onRefused'> {
  readonly server: Server
  readonly pipeline: ReturnType<typeof createRequestPipeline>
  readonly refuse: Refuse
}

/**
 * Answers what never becomes an ordinary request: input that Node cannot parse, CONNECT, and expectations. Node would
 * answer these itself, in another format or not at all.
 */
function answerUnparsed({ server, pipeline, refuse, makeRequestId, onRefused }: UnparsedOptions): void {
  const refuseExpectation: RequestListener = (request, response) => {
    noteRequest(request, response)
    pipeline.serialize(request, () => refuse(response, expectationFailed()))
  }
  server.on('checkExpectation', refuseExpectation)
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    if (request.headers.expect?.toLowerCase() !== '100-continue') return refuseExpectation(request, response)
    deferContinue(request, response)
    server.emit('request', request, response)
  })
  const endWith = async (socket: Duplex, refusal: AppError): Promise<void> => {
    const unfinished = await pipeline.abort(socket)
    if (unfinished === undefined) return
    if (!socket.writable || unfinished?.headersSent === true) {
      socket.destroy()
      return
    }
    const requestId = makeRequestId()
    onRefused({ requestId, error: refusal, method: unfinished?.req.method })
    writeRawError(socket, refusal, requestId)
  }
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET') socket.destroy()
    else void endWith(socket, refusalOf(error))
  })
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => void endWith(socket, methodNotImplemented()))
}

interface ParseError extends NodeJS.ErrnoException {
  readonly reason?: string
}

function refusalOf({ code, reason }: ParseError): AppError {
  if (code === 'HPE_HEADER_OVERFLOW') return headersTooLarge()
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return payloadTooLarge()
  if (code === 'HPE_INVALID_VERSION' && reason === 'Invalid HTTP version') return httpVersionNotSupported()
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return requestTimeout()
  return badRequest({ reason: code })
}

/** The error for an HTTP version that is not supported. Node's parser reports a request line without a version as HTTP 0.9. */
function versionRefusal({ httpVersionMajor }: IncomingMessage): AppError {
  return httpVersionMajor > 1 ? httpVersionNotSupported() : badRequest({ reason: 'version' })
}

/**
 * The error for a transfer coding that is not supported, in this number of header lines; null if there is none or it is
 * `chunked` (RFC 9112 section 6.1).
 */
function codingRefusal({ headers, httpVersion }: IncomingMessage, lines: number): AppError | null {
  const coding = headers['transfer-encoding']
  if (coding === undefined) return null
  if (httpVersion === '1.0' || lines > 1) return badRequest({ reason: 'transfer-encoding' })
  return coding.toLowerCase() === 'chunked'
    ? null
    : methodNotImplemented({}, { message: 'Only the chunked transfer coding is implemented' })
}

const LINGER_MS = 1_000

/**
 * Sends an error response without a parsed request, and ends the connection. Input is discarded for a moment, because
 * a reset would lose the response. Then the connection is closed in any case.
 */
function writeRawError(socket: Duplex, refusal: AppError, requestId: string): void {
  const body = errorBody(refusal, requestId)
  const lines = [
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}`,
    ...Object.entries(ERROR_HEADERS).map(([name, value]) => `${name}: ${value}`),
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    `Date: ${new Date().toUTCString()}`,
    'Connection: close',
  ]
  const timer = setTimeout(() => socket.destroy(), LINGER_MS)
  socket.once('close', () => clearTimeout(timer))
  socket.on('error', () => socket.destroy())
  socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`)
  socket.resume()
}
