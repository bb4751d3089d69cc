import { randomUUID } from 'node:crypto'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { notFound, unavailable } from '@oncehook/kernel/http/error-codes'
import { toAppError } from '@oncehook/kernel/http/errors'
import { sendError } from '@oncehook/kernel/http/server/send-error'
import type { Logger } from '@oncehook/kernel/log/logger'
import type { AnswerOperators } from './answer-operators.ts'
import { CONSOLE_HEADERS } from './console/console-headers.ts'
import { isConsolePage } from './console/console-pages.ts'

/** Dependencies of the admin listener. */
export interface AdminDeps {
  /** Answers the probes. Resolves to false if the request is not for a probe. */
  readonly probes: (request: IncomingMessage, response: ServerResponse) => Promise<boolean>
  readonly logger: Logger
  /** Answers operators. Null while the gateway starts: their code is loaded after the first deliveries were accepted. */
  readonly operators: () => AnswerOperators | null
}

/** The prefix of all paths of the operator API. */
export const OPERATOR_PREFIX = '/operator/'

const RETRY_SOON = { headers: { 'Retry-After': '1' } }

/**
 * Creates the handler of the private listener: probes, metrics and the files of the operator's page without a token, the
 * operator API with one.
 */
export function createAdminApp(deps: AdminDeps): RequestListener {
  return (request, response) => {
    const requestId = randomUUID()
    response.setHeader('X-Request-Id', requestId)
    response.setHeader('Cache-Control', 'no-store')
    for (const [name, value] of Object.entries(CONSOLE_HEADERS)) response.setHeader(name, value)
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

async function answer(deps: AdminDeps, call: AdminCall): Promise<void> {
  const { request, response, requestId } = call
  if (await deps.probes(request, response)) return
  const path = request.url?.split('?', 1)[0] ?? ''
  const operators = deps.operators()
  // Whether a path exists is known only when all parts have started.
  if (operators === null && isForOperators(path)) return sendError(response, unavailable({}, RETRY_SOON), { requestId })
  if (operators !== null && (await operators(request, response))) return
  await sendError(response, notFound(), { requestId })
}

function isForOperators(path: string): boolean {
  return path.startsWith(OPERATOR_PREFIX) || isConsolePage(path)
}
