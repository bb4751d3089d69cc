import { randomUUID } from 'node:crypto'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { notFound, unavailable } from '@oncehook/kernel/error-codes'
import { toAppError } from '@oncehook/kernel/errors'
import { sendError } from '@oncehook/kernel/http/send-error'
import type { Logger } from '@oncehook/kernel/logger'
import { isConsolePage } from './console/console-pages.ts'
import type { ConsoleFiles } from './console/read-console.ts'
import { CONSOLE_HEADERS, SIGN_IN_PATH, serveConsole } from './console/serve-console.ts'
import type { OperatorApi } from './operator-api.ts'
import type { ExchangeCode } from './sign-in/exchange-code.ts'
import { ISSUER_PATH, type SignInAtIssuer } from './sign-in/sign-in-at-issuer.ts'

/** Dependencies of the admin listener. */
export interface AdminDeps {
  /** Answers the probes. Resolves to false if the request is not for a probe. */
  readonly probes: (request: IncomingMessage, response: ServerResponse) => Promise<boolean>
  readonly logger: Logger
  /** What operators use, or null while the gateway starts. */
  readonly parts: () => AdminParts | null
}

/** What operators use on the private listener. */
export interface AdminParts {
  readonly operator: OperatorApi
  readonly exchangeCode: ExchangeCode
  readonly signInAtIssuer: SignInAtIssuer
  /** The files of the operator's page. Null if it is not built. */
  readonly console: ConsoleFiles | null
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
  const parts = deps.parts()
  // Whether a path exists is known only when all parts have started.
  if (parts === null && isOfParts(path)) return sendError(response, unavailable({}, RETRY_SOON), { requestId })
  if (parts === null) return sendError(response, notFound(), { requestId })
  if (path.startsWith(OPERATOR_PREFIX)) return parts.operator(request, response)
  if (path === SIGN_IN_PATH && request.method === 'POST') return parts.exchangeCode(request, response)
  if (path === ISSUER_PATH || path.startsWith(`${ISSUER_PATH}/`)) return parts.signInAtIssuer(request, response)
  if (parts.console !== null && serveConsole(parts.console, request, response)) return
  await sendError(response, notFound(), { requestId })
}

function isOfParts(path: string): boolean {
  return path.startsWith(OPERATOR_PREFIX) || isConsolePage(path)
}
