import { randomUUID } from 'node:crypto'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { notFound, unavailable } from '@oncehook/kernel/http/error-codes'
import { guardFraming } from '@oncehook/kernel/http/server/framing-guard'
import { listen } from '@oncehook/kernel/http/server/listen'
import { ownNames } from '@oncehook/kernel/http/server/own-names'
import { createProbes, openMetricsListener } from '@oncehook/kernel/http/server/probes'
import { logFailure, logRefused, sendError } from '@oncehook/kernel/http/server/send-error'
import { watchTls } from '@oncehook/kernel/http/server/tls'
import type { Logger } from '@oncehook/kernel/log/logger'
import { CHECK_FILES_MS } from '@oncehook/kernel/settings/file-source'
import { runPeriodically } from '@oncehook/kernel/time/run-periodically'
import { CONSOLE_HEADERS, isConsolePage } from '../operator/console/console.ts'
import type { GatewayContext } from './gateway-context.ts'
import type { AnswerOperators } from './operator-api.ts'

// Each may have a call in progress, and deliveries wait for a round of them.
const MOST_CONNECTIONS = 200

/**
 * Opens the private listener. Probes work at once; operators are answered as soon as `operators` returns how. Resolves
 * to the port.
 */
export async function startAdmin(context: GatewayContext, operators: () => AnswerOperators | null): Promise<number> {
  const { settings, logger, lifecycle, limits, mongo, fulfilment, shownMetrics: metrics, random } = context
  // The answer comes from its database.
  const checks = { mongodb: () => pingBoth(mongo), fulfilment: () => fulfilment.encryption.status.query({}) }
  const { METRICS_PORT: metricsPort, ADMIN_HOST: host } = settings
  const isOwnName = ownNames(host, settings.PRIVATE_NAMES)
  if (metricsPort !== undefined) {
    await openMetricsListener({ host, port: metricsPort, isOwnName, metrics, logger, lifecycle })
  }
  const app = createAdminApp({
    probes: createProbes({ checks, metrics: metricsPort === undefined ? metrics : null }),
    logger,
    operators,
  })
  const certificates = watchTls(settings.adminTls, {
    ...{ prefix: 'ADMIN_TLS', logger },
    onChanged: (renewed) => {
      if (renewed !== null) listener.renewTls(renewed)
    },
  })
  const listener = await listen({
    tls: certificates.current(),
    host,
    port: settings.ADMIN_PORT,
    maxConnections: MOST_CONNECTIONS,
    requestTimeoutMs: limits.requestTimeoutMs,
    ...guardFraming({
      handler: app,
      isOwnName,
      makeRequestId: randomUUID,
      onRefused: (refused) => logRefused(logger, refused),
    }),
  })
  const watch = runPeriodically({
    ...{ task: async () => certificates.check(), everyMs: CHECK_FILES_MS, random },
    onError: (error) => logger.warn({ error }, 'housekeeping.failed'),
  })
  lifecycle.onStop({ name: 'admin listener', withinMs: 1_000, stop: () => listener.close(500).finally(watch.stop) })
  return listener.port
}

/** A gateway that can accept events but not dispatch them is not ready. */
async function pingBoth({ accepting, background }: GatewayContext['mongo']): Promise<void> {
  await Promise.all([accepting.ping(), background.ping()])
}

interface AdminDeps {
  /** Answers the probes. Resolves to false if the request is not for a probe. */
  readonly probes: (request: IncomingMessage, response: ServerResponse) => Promise<boolean>
  readonly logger: Logger
  /** Answers operators. Null while the gateway starts: their code is loaded after the first deliveries were accepted. */
  readonly operators: () => AnswerOperators | null
}

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
    answer(deps, requestId, request, response).catch((error: unknown) => {
      const failure = logFailure(deps.logger, error, { requestId, method: request.method })
      void sendError(response, failure, { requestId })
    })
  }
}

async function answer(
  deps: AdminDeps,
  requestId: string,
  ...[request, response]: Parameters<AdminDeps['probes']>
): Promise<void> {
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
