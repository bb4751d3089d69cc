import type { IncomingMessage, ServerResponse } from 'node:http'
import { toAppError } from '@oncehook/kernel/http/errors'
import type { DatabaseErrors } from '@oncehook/kernel/mongo/database-errors'
import { toUnavailable } from '@oncehook/kernel/mongo/write-outcome'
import { handleRpc } from '@oncehook/kernel/rpc/handle-rpc'
import { Secret } from '@oncehook/kernel/secrets/secret'
import type { FailedLogins } from '../http/authentication/failed-logins.ts'
import type { Role } from '../token-holders.ts'
import type { Operator } from './access/identify-operator.ts'
import type { IdentifyRequest } from './access/identify-request.ts'
import { OPERATOR_PREFIX } from './admin-app.ts'
import { withIdentity } from './audit/with-identity.ts'
import { operatorRouter } from './operator-router.ts'
import type { OperatorParts } from './operator-trpc.ts'

/** Who may call the operator's procedures, and the dependencies of the procedures. */
export interface OperatorApiDeps {
  readonly identify: IdentifyRequest
  readonly failedLogins: FailedLogins
  readonly errors: Pick<DatabaseErrors, 'count'>
  readonly parts: OperatorParts
}

/** Answers a call of the operator API. The response already has its `X-Request-Id`. */
export type OperatorApi = (request: IncomingMessage, response: ServerResponse) => Promise<void>

// The context of a call that is refused before a procedure runs.
const NOBODY: Operator = {
  ...{ name: '', roles: new Set<Role>(), identity: null, endsAt: null, session: null },
  credential: new Secret(''),
}

/** Creates the operator API. Each call needs an operator's token, and its log line names its subject. */
export function createOperatorApi(deps: OperatorApiDeps): OperatorApi {
  const { identify, failedLogins, errors, parts } = deps
  const authenticate = async (request: IncomingMessage): Promise<Operator> => {
    try {
      return await identify(request.headers.authorization, request)
    } catch (error) {
      const known = toUnavailable(error) ?? toAppError(error)
      // Nobody failed to sign in if the database or the issuer did not answer.
      throw known.status >= 500 ? known : failedLogins.refuse(request, known)
    }
  }
  return async (request, response) => {
    const startedAt = performance.now()
    const requestId = String(response.getHeader('X-Request-Id'))
    const report = await handleRpc(
      {
        prefix: OPERATOR_PREFIX,
        router: operatorRouter,
        authenticate,
        createContext: (_, caller) => ({
          ...{ ...parts, operator: caller?.name ?? '', requestId, call: {} },
          roles: caller?.roles ?? new Set<Role>(),
          caller: caller ?? NOBODY,
          audit: withIdentity(parts.audit, caller?.identity ?? null),
        }),
      },
      request,
      response,
    )
    const { procedure, status, caller, context, error } = report
    errors.count(error)
    if (failedLogins.isSummarised(error)) return
    const { about } = context.call
    const { identity } = context.caller
    const ms = Math.round(performance.now() - startedAt)
    const shown = identity === null ? {} : { issuer: identity.issuer, operatorName: identity.name }
    const line = { ...about, requestId, procedure, status, operator: caller, ...shown, ms }
    if (status >= 500) parts.logger.error({ ...line, error }, 'operator.called')
    else
      parts.logger.info(error === undefined ? line : { ...error.details, ...line, code: error.code }, 'operator.called')
  }
}
