import { randomUUID } from 'node:crypto'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { notFound } from '@oncehook/kernel/error-codes'
import type { AppError } from '@oncehook/kernel/errors'
import { toAppError } from '@oncehook/kernel/errors'
import type { Logger } from '@oncehook/kernel/logger'
import type { FulfilmentMetrics } from '../metrics.ts'
import { answerCall, CALLS, type CallDeps, type CallReport, isFault } from './call-handler.ts'

/** What the listener works with. */
export interface AppDeps extends CallDeps {
  /** Answers the probes; false leaves the request alone. */
  readonly probes: (request: IncomingMessage, response: ServerResponse) => Promise<boolean>
  readonly logger: Logger
  readonly metrics: FulfilmentMetrics
}

const ALLOW = 'GET, HEAD, POST, OPTIONS'

/** Creates the handler of the one listener of fulfilment: probes, metrics and the procedures under `/trpc`. */
export function createApp(deps: AppDeps): RequestListener {
  return (request, response) => {
    const requestId = requestIdOf(request)
    response.setHeader('X-Request-Id', requestId)
    response.setHeader('Cache-Control', 'no-store')
    response.setHeader('X-Content-Type-Options', 'nosniff')
    answer(deps, request, response).catch((error: unknown) => {
      deps.logger.error({ error, requestId }, 'request.failed')
      sendError(response, toAppError(error), requestId)
    })
  }
}

async function answer(deps: AppDeps, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.url?.startsWith(CALLS) === true && request.method !== 'OPTIONS') {
    const startedAt = performance.now()
    const report = await answerCall(deps, request, response)
    return tell(deps, report, { startedAt, requestId: String(response.getHeader('X-Request-Id')) })
  }
  if (await deps.probes(request, response)) return
  const isCall = request.url?.startsWith(CALLS) === true || request.url === '*'
  if (request.method === 'OPTIONS' && isCall) response.writeHead(204, { Allow: ALLOW }).end()
  else sendError(response, notFound(), String(response.getHeader('X-Request-Id')))
}

function tell(deps: AppDeps, report: CallReport, call: { startedAt: number; requestId: string }): void {
  const ms = performance.now() - call.startedAt
  const { procedure, status, caller, facts, error } = report
  deps.metrics.request({ procedure, status, seconds: ms / 1_000 })
  const line = { requestId: call.requestId, procedure, status, caller, ms: Math.round(ms), ...facts }
  if (isFault(report)) deps.logger.error({ ...line, error }, 'request.completed')
  else deps.logger.info(error === undefined ? line : { ...line, code: error.code }, 'request.completed')
}

function requestIdOf(request: IncomingMessage): string {
  const sent = request.headers['x-request-id']
  return typeof sent === 'string' && /^[\w.:-]{1,128}$/.test(sent) ? sent : randomUUID()
}

function sendError(response: ServerResponse, error: AppError, requestId: string): void {
  if (response.headersSent) {
    response.end()
    return
  }
  const body = JSON.stringify({ error: error.message, code: error.code, requestId })
  response.writeHead(error.status, {
    ...error.headers,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
  })
  response.end(response.req.method === 'HEAD' ? undefined : body)
}
