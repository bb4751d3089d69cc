import { randomUUID } from 'node:crypto'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { notFound, unavailable } from '@oncehook/kernel/error-codes'
import { type AppError, toAppError } from '@oncehook/kernel/errors'
import { errorBody } from '@oncehook/kernel/http/error-body'
import type { Logger } from '@oncehook/kernel/logger'
import type { OperatorApi } from './operator-api.ts'

/** Dependencies of the admin listener. */
export interface AdminDeps {
  /** Answers the probes. Resolves to false if the request is not for a probe. */
  readonly probes: (request: IncomingMessage, response: ServerResponse) => Promise<boolean>
  readonly logger: Logger
  /** The operator API, or null while the gateway starts. */
  readonly operator: () => OperatorApi | null
}

/** The prefix of all paths of the operator API. */
export const OPERATOR_PREFIX = '/operator/'

/** Creates the handler of the private listener: probes and metrics without a token, the operator API with one. */
export function createAdminApp(deps: AdminDeps): RequestListener {
  return (request, response) => {
    const requestId = randomUUID()
    response.setHeader('X-Request-Id', requestId)
    response.setHeader('Cache-Control', 'no-store')
    response.setHeader('X-Content-Type-Options', 'nosniff')
    answer(deps, request, response).catch((error: unknown) => {
      deps.logger.error({ error, requestId }, 'request.failed')
      sendError(response, toAppError(error))
    })
  }
}

async function answer(deps: AdminDeps, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.url?.startsWith(OPERATOR_PREFIX) === true) {
    const operator = deps.operator()
    if (operator === null) return sendError(response, unavailable({}, { headers: { 'Retry-After': '1' } }))
    return operator(request, response)
  }
  if (!(await deps.probes(request, response))) sendError(response, notFound())
}

function sendError(response: ServerResponse, error: AppError): void {
  if (response.headersSent) {
    response.end()
    return
  }
  const body = errorBody(error, String(response.getHeader('X-Request-Id')))
  response.writeHead(error.status, {
    ...error.headers,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
  })
  response.end(response.req.method === 'HEAD' ? undefined : body)
}
