import { randomUUID } from 'node:crypto'
import { logRefused } from '@oncehook/kernel/http/log-refused'
import { openMetricsListener } from '@oncehook/kernel/http/metrics-listener'
import { createProbes } from '@oncehook/kernel/http/probes'
import { guardFraming } from '@oncehook/kernel/http/server/framing-guard'
import { listen } from '@oncehook/kernel/http/server/listen'
import { CHECK_TLS_MS, watchTls } from '@oncehook/kernel/http/tls/tls-sources'
import { createServiceTokenVerifier } from '@oncehook/kernel/service-token'
import { CHECK_KEYS_MS, watchServiceKeys } from '@oncehook/kernel/watch-service-keys'
import type { Registry } from 'prom-client'
import { createApp } from '../http/app.ts'
import type { UseCases } from '../use-cases.ts'
import type { FulfilmentParts, WorkerParts } from './fulfilment-parts.ts'

interface ListenerParts extends Omit<WorkerParts, 'mongo' | 'encryption'> {
  /** Throws unless calls and receipts can be written now. */
  readonly ping: () => Promise<void>
  readonly registry: Registry
  readonly useCases: UseCases
  readonly isReady: () => boolean
}

/** Starts the listener, with the service keys and certificates that it watches. Resolves to its port. */
export async function startListener(parts: FulfilmentParts, listener: ListenerParts): Promise<number> {
  const { settings, logger, clock } = parts
  const { ping, registry, metrics, errors, useCases, isReady, lifecycle } = listener
  const keys = watchServiceKeys(settings.serviceKeys, logger)
  const certificates = watchTls(settings.tls, {
    ...{ prefix: 'FULFILMENT_TLS', logger },
    onChanged: (renewed) => {
      if (renewed !== null) opened.renewTls(renewed)
    },
  })
  const tls = certificates.current()
  const { METRICS_PORT: metricsPort, FULFILMENT_HOST: host } = settings
  if (metricsPort !== undefined) {
    await openMetricsListener({ host, port: metricsPort, metrics: registry, logger, lifecycle })
  }
  const app = createApp({
    probes: createProbes({ checks: { mongodb: ping }, metrics: metricsPort === undefined ? registry : null }),
    verifyToken:
      parts.verifyToken ??
      createServiceTokenVerifier({ keys: keys.current, issuer: 'gateway', audience: 'fulfilment', clock }),
    useCases,
    demandsCertificate: tls?.clientCa !== undefined,
    isReady,
    logger,
    metrics,
    errors,
  })
  const opened = await listen({
    tls,
    host,
    port: settings.FULFILMENT_PORT,
    ...guardFraming({
      handler: app,
      makeRequestId: randomUUID,
      onRefused: (refused) => logRefused(logger, refused),
    }),
    maxConnections: settings.MAX_CONNECTIONS,
  })
  const checking = [
    setInterval(() => keys.check(), CHECK_KEYS_MS).unref(),
    setInterval(() => certificates.check(), CHECK_TLS_MS).unref(),
  ]
  const stop = (): Promise<void> => {
    for (const one of checking) clearInterval(one)
    return opened.close(2_500)
  }
  lifecycle.onStop({ name: 'listener', withinMs: 3_000, stop })
  return opened.port
}
