import { LogOutput } from '@oncehook/kernel/log/log-output'
import { createLogger } from '@oncehook/kernel/log/logger'
import { SettingsError } from '@oncehook/kernel/settings/settings'
import { systemClock } from '@oncehook/kernel/time/clock'
import { refuseToStart, runService } from '@oncehook/kernel/time/lifecycle'
import { openFulfilment } from './fulfilment.ts'
import type { Recording } from './router.ts'
import { type FulfilmentSettings, readFulfilmentSettings } from './settings.ts'

export interface FulfilmentProcess {
  readonly env: NodeJS.ProcessEnv
  readonly fetch: typeof globalThis.fetch
  /** Records the steps of the protocol, for tests. Default: nothing is recorded. */
  readonly recording?: Recording
}

export async function runFulfilment({ env, fetch, recording }: FulfilmentProcess): Promise<void> {
  const settings = readOrRefuse(env)
  const logOutput = new LogOutput()
  const logger = createLogger({ service: 'fulfilment', level: settings.LOG_LEVEL, destination: logOutput })
  await runService({
    env,
    logger,
    async start(lifecycle) {
      // Callers give up after 10 s. Two runs of one request would be harmless, because the key has reserved the order
      // id.
      const times = { keyLeaseMs: 30_000, receiptLeaseMs: 30_000 }
      await openFulfilment(
        { settings, logger, logOutput, clock: systemClock, random: Math.random, fetch, recording, ...times },
        lifecycle,
      )
    },
  })
}

function readOrRefuse(env: NodeJS.ProcessEnv): FulfilmentSettings {
  try {
    return readFulfilmentSettings(env)
  } catch (error) {
    if (error instanceof SettingsError) refuseToStart(error, env)
    throw error
  }
}
