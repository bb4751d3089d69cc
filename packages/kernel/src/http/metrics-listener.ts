import { randomUUID } from 'node:crypto'
import { notFound } from '../error-codes.ts'
import type { Lifecycle } from '../lifecycle.ts'
import type { Logger } from '../logger.ts'
import { logRefused } from './log-refused.ts'
import { createProbes, type ShownMetrics } from './probes.ts'
import { sendError } from './send-error.ts'
import { guardFraming } from './server/framing-guard.ts'
import { listen } from './server/listen.ts'

/** Address of the separate metrics listener. */
export interface MetricsListenerOptions {
  readonly host: string
  readonly port: number
  readonly metrics: ShownMetrics
  readonly logger: Logger
  readonly lifecycle: Lifecycle
}

/**
 * Opens a listener that serves only `/metrics`, so that clients of the metrics cannot reach endpoints that require
 * tokens. Resolves to its port.
 * @throws SettingsError if the address cannot be bound
 */
export async function openMetricsListener(options: MetricsListenerOptions): Promise<number> {
  const { host, port, metrics, logger, lifecycle } = options
  const probes = createProbes({ checks: {}, metrics })
  const listener = await listen({
    host,
    port,
    ...guardFraming({
      handler(request, response) {
        const requestId = randomUUID()
        response.setHeader('X-Request-Id', requestId)
        if (request.url?.split('?', 1)[0] !== '/metrics') {
          void sendError(response, notFound(), { requestId })
          return
        }
        probes(request, response).catch((error: unknown) => {
          logger.error({ error, requestId }, 'request.failed')
          response.destroy()
        })
      },
      makeRequestId: randomUUID,
      onRefused: (refused) => logRefused(logger, refused),
    }),
  })
  lifecycle.onStop({ name: 'metrics listener', withinMs: 1_000, stop: () => listener.close(500) })
  return listener.port
}
