import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import {
  badRequest,
  expectationFailed,
  headersTooLarge,
  httpVersionNotSupported,
  methodNotImplemented,
  payloadTooLarge,
  requestTimeout,
} from '../../error-codes.ts'
import type { AppError } from '../../errors.ts'
import { deferContinue } from './expect-continue.ts'
import type { GuardOptions } from './framing-guard.ts'
import type { RequestPipeline } from './request-pipeline.ts'
import { writeRawError } from './write-raw-error.ts'

/** Refuses a parsed request. */
export type Refuse = (response: ServerResponse, refusal: AppError) => void

/** The server, and what the guard shares with it. */
interface UnparsedOptions extends Pick<GuardOptions, 'makeRequestId' | 'onRefused'> {
  readonly server: Server
  readonly pipeline: RequestPipeline
  readonly refuse: Refuse
}

/**
 * Answers what never becomes an ordinary request: input that Node cannot parse, CONNECT, and expectations. Node would
 * answer these itself, in another format or not at all.
 */
export function answerUnparsed({ server, pipeline, refuse, makeRequestId, onRefused }: UnparsedOptions): void {
  const refuseExpectation: RequestListener = (request, response) =>
    pipeline.serialize(request, response, () => refuse(response, expectationFailed()))
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

/** A parser error of Node. */
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
