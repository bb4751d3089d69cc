import { randomUUID } from 'node:crypto'
import { guardFraming } from '@oncehook/kernel/http/framing-guard'
import { listen } from '@oncehook/kernel/http/listen'
import { logRefused } from '@oncehook/kernel/http/log-refused'
import { createProbes } from '@oncehook/kernel/http/probes'
import { createAdminApp } from '../operator/admin-app.ts'
import type { OperatorApi } from '../operator/operator-api.ts'
import type { Foundation } from './gateway-parts.ts'

/** Opens the private listener: probes at once, the operator API as soon as `operator` yields it. */
export async function startAdmin(foundation: Foundation, operator: () => OperatorApi | null): Promise<number> {
  const { settings, logger, lifecycle, mongo, payments, registry, showMetrics } = foundation
  const checks = { mongodb: () => pingBoth(mongo), fulfilment: () => payments.versions(['readiness']) }
  const app = createAdminApp({
    probes: createProbes({ checks, metrics: showMetrics?.(registry) ?? registry }),
    logger,
    operator,
  })
  const listener = await listen({
    host: settings.ADMIN_HOST,
    port: settings.ADMIN_PORT,
    ...guardFraming({
      handler: app,
      makeRequestId: randomUUID,
      onRefused: (refused) => logRefused(logger, refused),
    }),
  })
  lifecycle.onStop({ name: 'admin listener', withinMs: 1_000, stop: () => listener.close(500) })
  return listener.port
}

/** A gateway that could accept but not hand on is not ready. */
async function pingBoth({ accepting, background }: Foundation['mongo']): Promise<void> {
  await Promise.all([accepting.ping(), background.ping()])
}
