import type { IncomingMessage, ServerResponse } from 'node:http'
import type { DatabaseErrors } from '@oncehook/kernel/mongo/database-errors'
import { answerCall } from '@oncehook/kernel/trpc/answer-call'
import { principalOf } from '../http/api-token.ts'
import type { TokenHolders } from '../settings.ts'
import { OPERATOR_PREFIX } from './admin-app.ts'
import { operatorRouter } from './operator-router.ts'
import type { OperatorParts } from './operator-trpc.ts'

/** Who may call the operator's procedures, and what these work with. */
export interface OperatorApiDeps {
  readonly tokens: TokenHolders
  readonly errors: Pick<DatabaseErrors, 'count'>
  readonly parts: OperatorParts
}

/** Answers a call of the operator API; the answer has its `X-Request-Id` already. */
export type OperatorApi = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/** Creates the operator API: each call with an operator's token, and with a line in the log. */
export function createOperatorApi({ tokens, errors, parts }: OperatorApiDeps): OperatorApi {
  return async (request, response) => {
    const startedAt = performance.now()
    const requestId = String(response.getHeader('X-Request-Id'))
    const report = await answerCall(
      {
        prefix: OPERATOR_PREFIX,
        router: operatorRouter,
        authenticate: async ({ headers }) => principalOf(headers.authorization, tokens),
        createContext: (_, operator) => ({ ...parts, operator, requestId }),
      },
      request,
      response,
    )
    const { procedure, status, caller, error } = report
    errors.count(error)
    const line = { requestId, procedure, status, operator: caller, ms: Math.round(performance.now() - startedAt) }
    if (status >= 500) parts.logger.error({ ...line, error }, 'operator.called')
    else parts.logger.info(error === undefined ? line : { ...line, code: error.code }, 'operator.called')
  }
}
