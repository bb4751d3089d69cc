import { type ConsoleFiles, readConsole } from '../operator/console/read-console.ts'
import type { GatewayContext } from './gateway-context.ts'

/** Reads the built files of the operator's page. Without them, the gateway logs a warning and works otherwise. */
export async function openConsole({ findConsole, logger }: GatewayContext): Promise<ConsoleFiles | null> {
  try {
    const consoleFolder = findConsole?.() ?? null
    if (consoleFolder !== null) return await readConsole(consoleFolder)
    logger.warn({}, 'console.missing')
  } catch (error) {
    logger.warn({ error }, 'console.missing')
  }
  return null
}
