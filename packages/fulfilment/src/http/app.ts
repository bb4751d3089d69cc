import { randomUUID } from 'node:crypto'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { notFound, unauthenticated, unavailable } from '@oncehook/kernel/http/error-codes'
import { isFailure } from '@oncehook/kernel/http/errors'
import { logFailure, sendError } from '@oncehook/kernel/http/server/send-error'
import { hasTrustedCertificate } from '@oncehook/kernel/http/server/tls'
import { writeBounded } from '@oncehook/kernel/log/bounded-lines'
import type { Logger } from '@oncehook/kernel/log/logger'
import type { DatabaseErrors } from '@oncehook/kernel/mongo/database-errors'
import { type Caller, handleRpc, type RpcResult, type TrpcEndpoint } from '@oncehook/kernel/rpc/handle-rpc'
import type { ServiceTokenVerifier } from '@oncehook/kernel/secrets/service-token'
import type { FulfilmentMetrics } from '../metrics.ts'
import { answerHeaders, type Context, type FulfilmentRouter, fulfilmentRouter, type UseCases } from '../router.ts'

export interface AppDeps {
  readonly useCases: UseCases
  readonly verifyToken: ServiceTokenVerifier
  /** Whether a call needs a client certificate that the listener trusts. Probes do not. */
  readonly demandsCertificate: boolean
  readonly isReady: () => boolean
  /** Answers probes. Returns false if the request is not a probe. */
  readonly probes: (request: IncomingMessage, response: ServerResponse) => Promise<boolean>
  readonly logger: Logger
  readonly metrics: FulfilmentMetrics
  readonly errors: Pick<DatabaseErrors, 'count'>
}

const CALLS = '/trpc/'
const NO_CERTIFICATE = { message: 'A trusted client certificate is required' }
const ALLOW = 'GET, HEAD, POST, OPTIONS'

/** Whether a request is for a procedure. It then needs a service token. */
export function isCall({ url }: Pick<IncomingMessage, 'url'>): boolean {
  return url?.startsWith(CALLS) === true
}

/** Creates the request handler of fulfilment's only listener: probes, metrics and the procedures under `/trpc`. */
export function createApp(deps: AppDeps): RequestListener {
  const endpoint = createEndpoint(deps)
  const answer = async (request: IncomingMessage, response: ServerResponse, requestId: string): Promise<void> => {
    if (request.method === 'OPTIONS' && (isCall(request) || request.url === '*')) {
      response.writeHead(204, { Allow: ALLOW }).end()
    } else if (isCall(request)) {
      const startedAt = performance.now()
      const report = await handleRpc(endpoint, request, response)
      logCall(deps, report, { requestId, ms: performance.now() - startedAt })
    } else if (!(await deps.probes(request, response))) {
      await sendError(response, notFound(), { requestId })
    }
  }
  return (request, response) => {
    const requestId = requestIdOf(request)
    response.setHeader('X-Request-Id', requestId)
    response.setHeader('Cache-Control', 'no-store')
    response.setHeader('X-Content-Type-Options', 'nosniff')
    answer(request, response, requestId).catch((error: unknown) => {
      const failure = logFailure(deps.logger, error, { requestId, method: request.method })
      void sendError(response, failure, { requestId })
    })
  }
}

/** The calling service, and the principal on whose behalf it calls; null if not given. */
interface CallingService extends Caller {
  readonly principal: string | null
  readonly callId: string
}

function createEndpoint({
  useCases,
  verifyToken,
  demandsCertificate,
  isReady,
}: AppDeps): TrpcEndpoint<FulfilmentRouter, CallingService> {
  return {
    prefix: CALLS,
    router: fulfilmentRouter,
    async authenticate(request, procedure) {
      if (demandsCertificate && !hasTrustedCertificate(request))
        throw unauthenticated({ reason: 'certificate' }, NO_CERTIFICATE)
      const token = await verifyToken(request.headers.authorization)
      token.checkProcedure(procedure)
      token.checkCondition(request.headers['if-match'])
      if (!isReady()) throw unavailable({ reason: 'starting' }, { headers: { 'Retry-After': '1' } })
      const { id: callId, issuer: name, subject: principal } = token
      return { name, principal, callId, checkInput: token.checkInput }
    },
    createContext: (request, caller) => ({
      useCases,
      ifMatch: request.headers['if-match'],
      principal: caller?.principal ?? null,
      callId: caller?.callId ?? '',
      answer: {},
    }),
    headersOf: answerHeaders,
    queriesByPost: new Set(['erasures.find']),
  }
}

function logCall(
  deps: AppDeps,
  report: RpcResult<Context>,
  { requestId, ms }: { requestId: string; ms: number },
): void {
  const { procedure, status, caller, context, error } = report
  deps.errors.count(error)
  deps.metrics.request({ procedure, status, seconds: ms / 1_000 })
  const { principal } = context
  const line = {
    requestId,
    procedure,
    status,
    caller,
    ...(principal === null ? {} : { principal }),
    ms: Math.round(ms),
    ...context.answer.facts,
  }
  if (isFailure(status)) deps.logger.error({ ...line, error }, 'request.completed')
  else if (caller === undefined && error !== undefined) {
    const { code } = error
    const one = (): void => deps.logger.info({ ...line, code }, 'request.completed')
    const many = (counted: object): void => deps.logger.info(counted, 'request.completed')
    writeBounded(deps.logger, 'request.completed', { procedure, status, code }, { one, many })
  } else deps.logger.info(error === undefined ? line : { ...line, code: error.code }, 'request.completed')
}

function requestIdOf(request: IncomingMessage): string {
  const sent = request.headers['x-request-id']
  return typeof sent === 'string' && /^[\w.:-]{1,128}$/.test(sent) ? sent : randomUUID()
}
