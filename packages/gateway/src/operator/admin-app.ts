import { randomUUID } from 'node:crypto'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { notFound, unavailable } from '@oncehook/kernel/error-codes'
import { toAppError } from '@oncehook/kernel/errors'
import { sendError } from '@oncehook/kernel/http/send-error'
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

const RETRY_SOON = { headers: { 'Retry-After': '1' } }

/** Creates the handler of the private listener: probes and metrics without a token, the operator API with one. */
export function createAdminApp(deps: AdminDeps): RequestListener {
  return (request, response) => {
    const requestId = randomUUID()
    response.setHeader('X-Request-Id', requestId)
    response.setHeader('Cache-Control', 'no-store')
    response.setHeader('X-Content-Type-Options', 'nosniff')
    answer(deps, { request, response, requestId }).catch((error: unknown) => {
      deps.logger.error({ error, requestId }, 'request.failed')
      void sendError(response, toAppError(error), { requestId })
    })
  }
}

interface AdminCall {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly requestId: string
}

async function answer(deps: AdminDeps, { request, response, requestId }: AdminCall): Promise<void> {
  if (request.url?.startsWith(OPERATOR_PREFIX) === true) {
    const operator = deps.operator()
    if (operator === null) return sendError(response, unavailable({}, RETRY_SOON), { requestId })
    return operator(request, response)
  }
  if (!(await deps.probes(request, response))) await sendError(response, notFound(), { requestId })
}
