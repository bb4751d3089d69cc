import type { IncomingMessage, ServerResponse } from 'node:http'
import { AppError } from '@oncehook/kernel/errors'
import type { DatabaseErrors } from '@oncehook/kernel/mongo/database-errors'
import { handleRpc } from '@oncehook/kernel/trpc/handle-rpc'
import type { FailedLogins } from '../http/authentication/failed-logins.ts'
import { clientAddress } from '../http/client-address.ts'
import type { Role } from '../token-holders.ts'
import type { IssuedIdentity } from './access/access-token.ts'
import { identifyOperator, type Operator, type OperatorTokens } from './access/identify-operator.ts'
import { limitTokenChecks, type TokenChecks } from './access/limit-token-checks.ts'
import { OPERATOR_PREFIX } from './admin-app.ts'
import type { Audit, NewAuditEntry } from './audit/audit.ts'
import { operatorRouter } from './operator-router.ts'
import type { OperatorParts } from './operator-trpc.ts'

/** Who may call the operator's procedures, and the dependencies of these. */
export interface OperatorApiDeps {
  readonly tokens: Omit<OperatorTokens, 'clock'>
  readonly failedLogins: FailedLogins
  /** The processor time for tokens of the issuer that are not valid. */
  readonly tokenChecks: TokenChecks
  readonly errors: Pick<DatabaseErrors, 'count'>
  readonly parts: OperatorParts
}

/** Answers a call of the operator API. The response already has its `X-Request-Id`. */
export type OperatorApi = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/** Creates the operator API. Each call needs an operator's token, and its log line names its subject. */
export function createOperatorApi(deps: OperatorApiDeps): OperatorApi {
  const { tokens, failedLogins, tokenChecks, errors, parts } = deps
  const authenticate = async (request: IncomingMessage): Promise<Operator> => {
    const { holders, accessTokens: verify } = tokens
    // There is no proxy in front of the private listener.
    const accessTokens = verify === null ? null : limitTokenChecks(verify, tokenChecks, clientAddress(request, 0))
    try {
      return await identifyOperator(request.headers.authorization, { holders, accessTokens, clock: parts.clock })
    } catch (error) {
      throw error instanceof AppError ? failedLogins.refuse(request, error) : error
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
          identity: caller?.identity ?? null,
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
    const { identity } = context
    const ms = Math.round(performance.now() - startedAt)
    const shown = identity === null ? {} : { issuer: identity.issuer, operatorName: identity.name }
    const line = { ...about, requestId, procedure, status, operator: caller, ...shown, ms }
    if (status >= 500) parts.logger.error({ ...line, error }, 'operator.called')
    else
      parts.logger.info(error === undefined ? line : { ...error.details, ...line, code: error.code }, 'operator.called')
  }
}

/**
 * An audit log whose entries show what the issuer states about the operator. The subject alone means little to a
 * reader.
 */
function withIdentity(audit: Audit, identity: IssuedIdentity | null): Audit {
  if (identity === null) return audit
  const shown = (entry: NewAuditEntry): NewAuditEntry => ({
    ...entry,
    details: { ...entry.details, operator: { ...identity } },
  })
  return {
    ...audit,
    record: (entry) => audit.record(shown(entry)),
    recordAll: (entries) => audit.recordAll(entries.map(shown)),
  }
}
