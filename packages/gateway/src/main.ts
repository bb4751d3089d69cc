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
