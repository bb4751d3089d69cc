import type { IncomingMessage, ServerResponse } from 'node:http'
import { invalidRequest, unsupportedMediaType } from '@oncehook/kernel/error-codes'
import { AppError, toAppError } from '@oncehook/kernel/errors'
import { refuseEncodedBody } from '@oncehook/kernel/http/body-headers'
import { logRefused } from '@oncehook/kernel/http/log-refused'
import { readRawBody } from '@oncehook/kernel/http/raw-body'
import { sendError } from '@oncehook/kernel/http/send-error'
import type { Logger } from '@oncehook/kernel/logger'
import { toUnavailable } from '@oncehook/kernel/mongo/write-outcome'
import type { Secret } from '@oncehook/kernel/secret'
import { parseStrictJson } from '@oncehook/kernel/strict-json'
import { z } from 'zod'
import { crossSite, signInCodeInvalid } from '../../errors.ts'
import { CHALLENGE } from '../../http/authentication/bearer-token.ts'
import type { FailedLogins } from '../../http/authentication/failed-logins.ts'
import { clientAddress } from '../../http/client-address.ts'
import type { RateLimit } from '../../http/rate-limit.ts'
import type { Operator } from '../access/identify-operator.ts'
import type { Audit } from '../audit/audit.ts'
import { withIdentity } from '../audit/with-identity.ts'
import { SIGN_IN_PATH } from '../console/serve-console.ts'
import type { SignIns } from './sign-ins.ts'

/** Dependencies of the exchange of codes for sessions. */
export interface ExchangeDeps {
  readonly signIns: Pick<SignIns, 'useCode' | 'createSession'>
  /**
   * Returns the current operator of a token.
   * @throws unauthenticated if the token is no longer valid
   */
  readonly identify: (credential: Secret, request: IncomingMessage) => Promise<Operator>
  readonly audit: Audit
  readonly failedLogins: Pick<FailedLogins, 'refuse' | 'isSummarised'>
  /** The limits of wrong codes: of an address, and of all together. */
  readonly limits: { readonly ofAddress: RateLimit; readonly ofAll: RateLimit }
  readonly logger: Logger
}

/** Answers `POST /sign-in`. The response already has its `X-Request-Id`. */
export type ExchangeCode = (request: IncomingMessage, response: ServerResponse) => Promise<void>

const MAX_BYTES = 4_096
const bodySchema = z.strictObject({ code: z.string().max(256) })
const JSON_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset="?utf-8"?[ \t]*)?$/i
const EVERYBODY = 'all'

/**
 * Creates the exchange of a code for the token of a session. A code that is wrong, used or expired, or whose operator may
 * no longer call, gets the same answer. The audit log has an entry before the session exists.
 */
export function createExchangeCode(deps: ExchangeDeps): ExchangeCode {
  return async (request, response) => {
    const requestId = String(response.getHeader('X-Request-Id'))
    try {
      const answer = Buffer.from(JSON.stringify(await exchange(deps, request)))
      response.writeHead(200, { 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': answer.length })
      response.end(answer)
    } catch (thrown) {
      const error = toAppError(toUnavailable(thrown) ?? thrown)
      if (!deps.failedLogins.isSummarised(error)) {
        logRefused(deps.logger, { requestId, error, method: request.method, route: SIGN_IN_PATH })
      }
      await sendError(response, error, { requestId, asProblem: true })
    }
  }
}

async function exchange(deps: ExchangeDeps, request: IncomingMessage) {
  refuseCrossSite(request)
  if (!JSON_TYPE.test(request.headers['content-type'] ?? '')) {
    throw unsupportedMediaType({}, { headers: { Accept: 'application/json' } })
  }
  refuseEncodedBody(request)
  const address = clientAddress(request, 0) // There is no proxy in front of the private listener.
  refuseIfOverLimit(deps.limits, address)
  const body = bodySchema.safeParse(parseStrictJson(await readRawBody(request, MAX_BYTES)))
  if (!body.success) throw invalidRequest({}, { message: 'The body must be an object with the code and nothing else' })
  const { credential, operator } = await redeem(deps, { code: body.data.code, request, address })
  const session = await deps.signIns.createSession(credential, operator.endsAt)
  return {
    token: session.text.reveal(),
    operator: operator.name,
    roles: [...operator.roles],
    expiresAt: new Date(session.endsAt).toISOString(),
  }
}

interface Attempt {
  readonly code: string
  readonly request: IncomingMessage
  readonly address: string
}

async function redeem(deps: ExchangeDeps, { code, request, address }: Attempt) {
  const refuse = (reason: string): AppError => {
    deps.limits.ofAddress.count(address)
    deps.limits.ofAll.count(EVERYBODY)
    return deps.failedLogins.refuse(request, signInCodeInvalid({ reason }, CHALLENGE))
  }
  const credential = await deps.signIns.useCode(code)
  if (credential === null) throw refuse('code_unknown')
  const operator = await deps.identify(credential, request).catch((error: unknown) => {
    throw error instanceof AppError && error.status === 401 ? refuse('code_of_nobody') : error
  })
  const entry = { by: operator.name, action: 'sign_in.opened', reason: null, details: {} } as const
  await withIdentity(deps.audit, operator.identity).record(entry)
  return { credential, operator }
}

/**
 * A page of another site must not be able to sign in its visitor. Browsers say which site a request comes from; other
 * programs do not, and have no visitor.
 */
function refuseCrossSite({ headers }: IncomingMessage): void {
  const site = headers['sec-fetch-site'] ?? 'same-origin'
  const { origin, host = '' } = headers
  const isOwn = origin === undefined || origin === `http://${host}` || origin === `https://${host}`
  if (site !== 'same-origin' || !isOwn) throw crossSite()
}

function refuseIfOverLimit({ ofAddress, ofAll }: ExchangeDeps['limits'], address: string): void {
  for (const [limit, key] of [[ofAddress, address] as const, [ofAll, EVERYBODY] as const]) {
    const allowance = limit.peek(key)
    if (allowance.remaining <= 0) throw limit.refusal(allowance)
  }
}
