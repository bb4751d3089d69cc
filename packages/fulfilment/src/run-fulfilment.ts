import { systemClock } from '@oncehook/kernel/clock'
import { refuseToStart, runService } from '@oncehook/kernel/lifecycle'
import { LogOutput } from '@oncehook/kernel/log-output'
import { createLogger } from '@oncehook/kernel/logger'
import { warnOfUnboundHeap } from '@oncehook/kernel/restart-with-heap-flags'
import { SettingsError } from '@oncehook/kernel/settings'
import { openFulfilment } from './fulfilment.ts'
import { type FulfilmentSettings, readFulfilmentSettings } from './settings.ts'

/** What the process was started with. */
export interface FulfilmentProcess {
  readonly env: NodeJS.ProcessEnv
  /** Whether its young generation is bounded. */
  readonly heapIsBound: boolean
  /** By which others are asked. */
  readonly fetch: typeof globalThis.fetch
}

/** Runs fulfilment as this process until a signal stops it. */
export async function runFulfilment({ env, heapIsBound, fetch }: FulfilmentProcess): Promise<void> {
  const settings = readOrRefuse(env)
  const logOutput = new LogOutput()
  const logger = createLogger({ service: 'fulfilment', level: settings.LOG_LEVEL, destination: logOutput })
  if (!heapIsBound) warnOfUnboundHeap(logger)
  await runService({
    logger,
    async start(lifecycle) {
      // A caller gives up after 10 s. Two runs of one request would be harmless too: the key has reserved the order's id.
      const times = { keyLeaseMs: 30_000, receiptLeaseMs: 30_000 }
      await openFulfilment(
        { settings, logger, logOutput, clock: systemClock, random: Math.random, fetch, ...times },
        lifecycle,
      )
    },
  })
}

function readOrRefuse(env: NodeJS.ProcessEnv): FulfilmentSettings {
  try {
    return readFulfilmentSettings(env)
  } catch (error) {
    if (error instanceof SettingsError) refuseToStart(error)
    throw error
  }
}
