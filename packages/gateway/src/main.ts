import { setFlagsFromString } from 'node:v8'
import { systemClock } from '@oncehook/kernel/clock'
import { refuseToStart, runService } from '@oncehook/kernel/lifecycle'
import { createLogger } from '@oncehook/kernel/logger'
import { SettingsError } from '@oncehook/kernel/settings'
import { startGateway } from './gateway.ts'
import { type GatewaySettings, readGatewaySettings } from './settings.ts'

function readOrRefuse(): GatewaySettings {
  try {
    return readGatewaySettings(process.env)
  } catch (error) {
    if (error instanceof SettingsError) refuseToStart(error)
    throw error
  }
}

// Deliveries in flight outlive the young generation and die soon after: without this the heap grows to several times
// of what is alive before it is looked at.
setFlagsFromString('--heap-growing-percent=25')

const settings = readOrRefuse()
const logger = createLogger({ service: 'gateway', level: settings.LOG_LEVEL })
await runService({
  logger,
  async start(lifecycle) {
    await startGateway(
      { settings, logger, clock: systemClock, random: Math.random, fetch: globalThis.fetch },
      lifecycle,
    )
  },
})
