import { randomUUID } from 'node:crypto'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { notFound, unavailable } from '@oncehook/kernel/error-codes'
import { type AppError, toAppError } from '@oncehook/kernel/errors'
import { errorBody } from '@oncehook/kernel/http/error-body'
import type { DatabaseErrors } from '@oncehook/kernel/mongo/database-errors'
import { answerCall } from '@oncehook/kernel/trpc/answer-call'
import { principalOf } from '../http/api-token.ts'
import type { TokenHolders } from '../settings.ts'
import { operatorRouter } from './operator-router.ts'
import type { OperatorParts } from './operator-trpc.ts'

/** What the admin listener serves with. */
export interface AdminDeps {
  /** Answers the probes; false leaves the request alone. */
  readonly probes: (request: IncomingMessage, response: ServerResponse) => Promise<boolean>
  readonly tokens: TokenHolders
  readonly logger: OperatorParts['logger']
  readonly errors: Pick<DatabaseErrors, 'count'>
  /** The operator's parts, or null while the gateway starts. */
  readonly parts: () => OperatorParts | null
}

const PREFIX = '/operator/'

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
  if (request.url?.startsWith(PREFIX) === true) return answerOperator(deps, request, response)
  if (!(await deps.probes(request, response))) sendError(response, notFound())
}

async function answerOperator(deps: AdminDeps, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const startedAt = performance.now()
  const requestId = String(response.getHeader('X-Request-Id'))
  const parts = deps.parts()
  if (parts === null) return sendError(response, unavailable({}, { headers: { 'Retry-After': '1' } }))
  const report = await answerCall(
    {
      prefix: PREFIX,
      router: operatorRouter,
      authenticate: async ({ headers }) => principalOf(headers.authorization, deps.tokens),
      createContext: (_, operator) => ({ ...parts, operator, requestId }),
    },
    request,
    response,
  )
  const { procedure, status, caller, error } = report
  deps.errors.count(error)
  const line = { requestId, procedure, status, operator: caller, ms: Math.round(performance.now() - startedAt) }
  if (status >= 500) deps.logger.error({ ...line, error }, 'operator.called')
  else deps.logger.info(error === undefined ? line : { ...line, code: error.code }, 'operator.called')
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
