import { randomUUID } from 'node:crypto'
import { guardFraming } from '@oncehook/kernel/http/framing-guard'
import { listen } from '@oncehook/kernel/http/listen'
import { logRefused } from '@oncehook/kernel/http/log-refused'
import { openMetricsListener } from '@oncehook/kernel/http/metrics-listener'
import { createProbes } from '@oncehook/kernel/http/probes'
import type { TlsPair } from '@oncehook/kernel/http/tls-files'
import { runEvery } from '@oncehook/kernel/run-every'
import { SettingsError } from '@oncehook/kernel/settings'
import { createAdminApp } from '../operator/admin-app.ts'
import type { OperatorApi } from '../operator/operator-api.ts'
import type { Foundation } from './gateway-parts.ts'

/** Opens the private listener: probes at once, the operator API as soon as `operator` yields it. */
export async function startAdmin(foundation: Foundation, operator: () => OperatorApi | null): Promise<number> {
  const { settings, logger, lifecycle, mongo, payments, registry, showMetrics } = foundation
  const checks = { mongodb: () => pingBoth(mongo), fulfilment: () => payments.versions(['readiness']) }
  const metrics = showMetrics?.(registry) ?? registry
  const { METRICS_PORT: metricsPort, ADMIN_HOST: host } = settings
  if (metricsPort !== undefined) await openMetricsListener({ host, port: metricsPort, metrics, logger, lifecycle })
  const app = createAdminApp({
    probes: createProbes({ checks, metrics: metricsPort === undefined ? metrics : null }),
    logger,
    operator,
  })
  const tls = settings.readAdminTls()
  const listener = await listen({
    tls,
    host,
    port: settings.ADMIN_PORT,
    ...guardFraming({
      handler: app,
      makeRequestId: randomUUID,
      onRefused: (refused) => logRefused(logger, refused),
    }),
  })
  const watch = watchTls(foundation, { tls, renew: listener.renewTls })
  lifecycle.onStop({ name: 'admin listener', withinMs: 1_000, stop: () => listener.close(500).finally(watch.stop) })
  return listener.port
}

/** A gateway that could accept but not hand on is not ready. */
async function pingBoth({ accepting, background }: Foundation['mongo']): Promise<void> {
  await Promise.all([accepting.ping(), background.ping()])
}

const CHECK_FILES_MS = 1_000

interface WatchedTls {
  readonly tls: TlsPair | null
  readonly renew: (tls: TlsPair) => void
}

/** Takes a renewed certificate without a restart. One that does not fit its key is refused, once for each content. */
function watchTls({ settings, logger, random }: Foundation, { tls, renew }: WatchedTls): { stop(): Promise<void> } {
  if (tls === null) return { stop: async () => undefined }
  let current = tls
  let refused = ''
  const check = async (): Promise<void> => {
    const read = settings.readAdminTls()
    refused = ''
    if (read === null || (read.cert === current.cert && read.key === current.key)) return
    current = read
    renew(read)
    logger.info('admin.tls-renewed')
  }
  const onError = (error: unknown): void => {
    const problems = error instanceof SettingsError ? error.message : 'unknown'
    if (problems !== refused) logger.warn({ problems: problems.split('\n') }, 'admin.tls-refused')
    refused = problems
  }
  return runEvery({ task: check, everyMs: CHECK_FILES_MS, random, onError })
}
