import type { IncomingMessage, RequestListener, Server } from 'node:http'
import { badRequest, headersTooLarge } from '../../error-codes.ts'
import type { AppError } from '../../errors.ts'
import type { RefusedRequest } from '../log-refused.ts'
import { sendError } from '../send-error.ts'
import { createRequestPipeline } from './request-pipeline.ts'
import { isHost, MAX_TARGET_BYTES, readTarget } from './request-target.ts'
import { answerUnparsed, type Refuse } from './unparsed-requests.ts'
import { codingRefusal, versionRefusal } from './unsupported-framing.ts'

/** Dependencies of the guard. */
export interface GuardOptions {
  readonly handler: RequestListener
  /** Creates the id of an error response if no request could be parsed. */
  readonly makeRequestId: () => string
  /** Called for each request that the guard refuses. */
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
  const handler: RequestListener = (request, response) =>
    pipeline.serialize(request, response, () => {
      const refusal = takeRequest(request)
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
