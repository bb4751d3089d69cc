import cluster from 'node:cluster'
import { flushCompileCache } from 'node:module'
import { setFlagsFromString } from 'node:v8'
import { systemClock } from '@oncehook/kernel/clock'
import { type Lifecycle, refuseToStart, runService } from '@oncehook/kernel/lifecycle'
import { LogOutput } from '@oncehook/kernel/log-output'
import { createLogger } from '@oncehook/kernel/logger'
import { warnOfUnboundHeap } from '@oncehook/kernel/restart-with-heap-flags'
import { SettingsError } from '@oncehook/kernel/settings'
import type { GatewayParts } from './composition/gateway-parts.ts'
import { type GatewaySettings, loadNamedSchemes, readGatewaySettings } from './settings.ts'
import { STARTED } from './workers/started.ts'

// A worker has stopped by then: the whole of its own stop is bounded.
const WORKERS_STOP_MS = 10_000

/** What the process was started with. */
export interface GatewayProcess {
  readonly env: NodeJS.ProcessEnv
  /** Whether its young generation is bounded. */
  readonly heapIsBound: boolean
  /** By which others are asked. */
  readonly fetch: typeof globalThis.fetch
}

/** Runs the gateway as this process, or as the supervisor of several, until a signal stops it. */
export async function runGateway({ env, heapIsBound, fetch }: GatewayProcess): Promise<void> {
  const settings = await readOrRefuse(env)
  const logOutput = new LogOutput()
  const logger = createLogger({ service: 'gateway', level: settings.LOG_LEVEL, destination: logOutput })
  if (!heapIsBound) warnOfUnboundHeap(logger)
  const parts = { settings, logger, logOutput, clock: systemClock, random: Math.random, fetch }
  const isSupervisor = settings.WORKERS > 1 && cluster.isPrimary
  await runService({
    logger,
    start: (lifecycle) => (isSupervisor ? superviseMany(parts, lifecycle) : startOne(parts, lifecycle)),
  })
}

async function readOrRefuse(env: NodeJS.ProcessEnv): Promise<GatewaySettings> {
  try {
    return readGatewaySettings(env, await loadNamedSchemes(env))
  } catch (error) {
    if (error instanceof SettingsError) refuseToStart(error)
    throw error
  }
}

async function startOne(parts: GatewayParts, lifecycle: Lifecycle): Promise<void> {
  const { startGateway } = await import('./gateway.ts')
  if (!cluster.isWorker) {
    await startGateway(parts, lifecycle)
    suitHeapToDeliveries()
    return
  }
  const { shareMetrics } = await import('./workers/metrics-of-workers.ts')
  await startGateway({ ...parts, showMetrics: (own) => shareMetrics(own, process) }, lifecycle)
  suitHeapToDeliveries()
  process.send?.(STARTED)
}

/**
 * Deliveries in flight outlive the young generation and die soon after. V8 would let the heap grow to several times of
 * what is alive before it looks at it; and it would take what a delivery allocates for long-lived and allocate it among
 * the old, where it keeps all it refers to until a full collection: in two processes of three that took a quarter of the
 * time. Compiled code is put by before, for the next start has not these flags yet: it is a fifth shorter than with code
 * that was put by at the end.
 */
function suitHeapToDeliveries(): void {
  flushCompileCache()
  setFlagsFromString('--heap-growing-percent=25')
  setFlagsFromString('--no-allocation-site-pretenuring')
}

async function superviseMany({ settings, logger, random }: GatewayParts, lifecycle: Lifecycle): Promise<void> {
  const { Workers } = await import('./workers/workers.ts')
  const workers = new Workers({ count: settings.WORKERS, logger, random })
  lifecycle.onStop({ name: 'workers', withinMs: WORKERS_STOP_MS, stop: () => workers.stop() })
  await workers.start()
}
