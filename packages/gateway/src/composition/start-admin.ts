import { randomUUID } from 'node:crypto'
import { guardFraming } from '@oncehook/kernel/http/server/framing-guard'
import { listen } from '@oncehook/kernel/http/server/listen'
import { createProbes, openMetricsListener } from '@oncehook/kernel/http/server/probes'
import { logRefused } from '@oncehook/kernel/http/server/send-error'
import { CHECK_TLS_MS, watchTls } from '@oncehook/kernel/http/server/tls'
import { runPeriodically } from '@oncehook/kernel/time/run-periodically'
import { createAdminApp } from '../operator/admin-app.ts'
import type { AnswerOperators } from '../operator/answer-operators.ts'
import type { GatewayContext } from './gateway-context.ts'

/**
 * Opens the private listener. Probes work at once; operators are answered as soon as `operators` returns how. Resolves
 * to the port.
 */
export async function startAdmin(context: GatewayContext, operators: () => AnswerOperators | null): Promise<number> {
  const { settings, logger, lifecycle, mongo, payments, shownMetrics: metrics, random } = context
  const checks = { mongodb: () => pingBoth(mongo), fulfilment: () => payments.versions(['readiness']) }
  const { METRICS_PORT: metricsPort, ADMIN_HOST: host } = settings
  if (metricsPort !== undefined) await openMetricsListener({ host, port: metricsPort, metrics, logger, lifecycle })
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
    ...guardFraming({
      handler: app,
      makeRequestId: randomUUID,
      onRefused: (refused) => logRefused(logger, refused),
    }),
  })
  const watch = runPeriodically({
    ...{ task: async () => certificates.check(), everyMs: CHECK_TLS_MS, random },
    onError: (error) => logger.warn({ error }, 'housekeeping.failed'),
  })
  lifecycle.onStop({ name: 'admin listener', withinMs: 1_000, stop: () => listener.close(500).finally(watch.stop) })
  return listener.port
}

/** A gateway that can accept events but not dispatch them is not ready. */
async function pingBoth({ accepting, background }: GatewayContext['mongo']): Promise<void> {
  await Promise.all([accepting.ping(), background.ping()])
}
