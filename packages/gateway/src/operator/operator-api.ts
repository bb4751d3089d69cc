import type { IncomingMessage, ServerResponse } from 'node:http'
import { AppError } from '@oncehook/kernel/errors'
import type { DatabaseErrors } from '@oncehook/kernel/mongo/database-errors'
import { answerCall, type Caller } from '@oncehook/kernel/trpc/answer-call'
import { holderOf } from '../http/bearer-token.ts'
import type { FailedLogins } from '../http/failed-logins.ts'
import type { OperatorGrant, Role, TokenHolders } from '../token-holders.ts'
import { OPERATOR_PREFIX } from './admin-app.ts'
import { operatorRouter } from './operator-router.ts'
import type { OperatorParts } from './operator-trpc.ts'

/** Who may call the operator's procedures, and what these work with. */
export interface OperatorApiDeps {
  readonly tokens: TokenHolders<OperatorGrant>
  readonly failedLogins: FailedLogins
  readonly errors: Pick<DatabaseErrors, 'count'>
  readonly parts: OperatorParts
}

/** An operator that calls. */
interface Operator extends Caller {
  readonly roles: ReadonlySet<Role>
}

/** Answers a call of the operator API; the answer has its `X-Request-Id` already. */
export type OperatorApi = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/** Creates the operator API: each call with an operator's token, and with a line in the log that says what it was about. */
export function createOperatorApi({ tokens, failedLogins, errors, parts }: OperatorApiDeps): OperatorApi {
  const authenticate = async (request: IncomingMessage): Promise<Operator> => {
    try {
      const { authorization } = request.headers
      const { name, grant } = holderOf(authorization, { holders: tokens, now: parts.clock.now() })
      return { name, roles: grant.roles }
    } catch (error) {
      throw error instanceof AppError ? failedLogins.refuse(request, error) : error
    }
  }
  return async (request, response) => {
    const startedAt = performance.now()
    const requestId = String(response.getHeader('X-Request-Id'))
    const report = await answerCall(
      {
        prefix: OPERATOR_PREFIX,
        router: operatorRouter,
        authenticate,
        createContext: (_, caller) => ({
          ...{ ...parts, operator: caller?.name ?? '', requestId, call: {} },
          roles: caller?.roles ?? new Set<Role>(),
        }),
      },
      request,
      response,
    )
    const { procedure, status, caller, context, error } = report
    errors.count(error)
    if (failedLogins.isSummarised(error)) return
    const { about } = context.call
    const ms = Math.round(performance.now() - startedAt)
    const line = { ...about, requestId, procedure, status, operator: caller, ms }
    if (status >= 500) parts.logger.error({ ...line, error }, 'operator.called')
    else
      parts.logger.info(error === undefined ? line : { ...error.details, ...line, code: error.code }, 'operator.called')
  }
}
