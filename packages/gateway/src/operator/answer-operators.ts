import type { IncomingMessage, ServerResponse } from 'node:http'
import { OPERATOR_PREFIX } from './admin-app.ts'
import type { ConsoleFiles } from './console/read-console.ts'
import { SIGN_IN_PATH, serveConsole } from './console/serve-console.ts'
import type { OperatorApi } from './operator-api.ts'
import type { ExchangeCode } from './sign-in/exchange-code.ts'
import { ISSUER_PATH, type SignInAtIssuer } from './sign-in/sign-in-at-issuer.ts'

/** What operators use on the private listener. */
export interface OperatorAnswers {
  readonly api: OperatorApi
  readonly exchangeCode: ExchangeCode
  readonly signInAtIssuer: SignInAtIssuer
  /** The files of the operator's page. Null if it is not built. */
  readonly console: ConsoleFiles | null
}

/** Answers a request of an operator. Resolves to false, without an answer, if the path is none of theirs. */
export type AnswerOperators = (request: IncomingMessage, response: ServerResponse) => Promise<boolean>

/** Leads each request to the operator API, to the sign-in, or to the operator's page. */
export function answerOperators(parts: OperatorAnswers): AnswerOperators {
  return async (request, response) => {
    const answer = findPart(parts, request)
    if (answer === null) return parts.console !== null && serveConsole(parts.console, request, response)
    await answer(request, response)
    return true
  }
}

/** The part that a request is for. Null: it may be for the page. */
function findPart(parts: OperatorAnswers, { url = '', method }: IncomingMessage): OperatorApi | null {
  const path = url.split('?', 1)[0] ?? ''
  if (path.startsWith(OPERATOR_PREFIX)) return parts.api
  if (path === SIGN_IN_PATH && method === 'POST') return parts.exchangeCode
  return path === ISSUER_PATH || path.startsWith(`${ISSUER_PATH}/`) ? parts.signInAtIssuer : null
}
