import { setTimeout as sleep } from 'node:timers/promises'
import type { GatewayContext } from './gateway-context.ts'

const RETRY_MS = 1_000
const LOG_EVERY = 10

/**
 * Reads which providers and handlers are paused, before the first event is sent: a pause outlives a restart. Retries every
 * second until the database answers or the gateway stops.
 */
export async function loadPauses({
  pauses,
  handlerPauses,
  settings,
  lifecycle,
  logger,
}: Pick<GatewayContext, 'pauses' | 'handlerPauses' | 'settings' | 'lifecycle' | 'logger'>): Promise<void> {
  for (let tries = 0; !lifecycle.isStopping; tries += 1) {
    try {
      await Promise.all([pauses.refresh(), settings.handlers.isSet ? handlerPauses.refresh() : undefined])
      return
    } catch (error) {
      if (tries % LOG_EVERY === 0) logger.warn({ error }, 'pauses.not-read')
      await sleep(RETRY_MS)
    }
  }
}
