import type { Logger } from '@oncehook/kernel/log/logger'
import type { DeliveryMetrics } from '../../metrics.ts'
import type { Accepted } from '../../receive/receive-webhook.ts'
import type { WebhookCall } from './admission.ts'

/** Where accepted deliveries are recorded. */
export interface LogDeliveryDeps {
  readonly logger: Logger
  readonly metrics: DeliveryMetrics
}

/** Counts an accepted delivery, and logs one line for each of its events. */
export function logAccepted({ logger, metrics }: LogDeliveryDeps, call: WebhookCall, accepted: Accepted): void {
  const { ids } = call
  const { name: provider } = call.provider
  metrics.matched(provider, accepted.secretId)
  if ('handshake' in accepted) {
    metrics.delivered(provider, 'handshake')
    logger.info({ ...ids, provider, ms: elapsed(call) }, 'webhook.handshake')
    return
  }
  for (const { event, outcome } of accepted.events) {
    metrics.delivered(provider, outcome)
    const names = { eventId: event.id.slice(0, 64), type: event.type.slice(0, 64) }
    const line = { ...ids, provider, ...names, ms: elapsed(call) }
    const reason = outcome === 'unhandled' ? event.facts.withheld : undefined
    if (reason !== undefined) {
      metrics.withheld(provider, reason)
      logger.warn({ ...line, reason }, 'event.withheld')
    } else logger.info(line, outcome === 'unhandled' ? 'event.unhandled' : `webhook.${outcome}`)
  }
}

/** The time since a delivery began, in milliseconds with one decimal. */
export function elapsed({ startedAt }: WebhookCall): number {
  return Math.round((performance.now() - startedAt) * 10) / 10
}
