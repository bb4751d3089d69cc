import type { AppError } from '@oncehook/kernel/errors'
import type { Logger } from '@oncehook/kernel/logger'
import { CERTIFICATE_ASKED_IN_VAIN } from '@oncehook/webhooks/providers'
import { notChecked } from '../../errors.ts'
import type { DeliveryMetrics } from '../../metrics.ts'
import type { Accepted } from '../../receive/receive-webhook.ts'
import type { WebhookCall } from './admission.ts'
import type { RefusalSummary } from './refusal-summary.ts'

/** Where the result of a delivery is recorded. */
export interface LogDeliveryDeps {
  readonly logger: Logger
  readonly metrics: DeliveryMetrics
  readonly summary: Pick<RefusalSummary, 'add' | 'takeLine'>
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

/** Counts a rejected delivery and logs it: in a separate line, or in the summary if there are too many. */
export function logRefused({ logger, metrics, summary }: LogDeliveryDeps, call: WebhookCall, error: AppError): void {
  const { ids, address } = call
  const { name: provider } = call.provider
  const { code, status, details } = error
  metrics.delivered(provider, isAskedInVain(error) ? ASKED_IN_VAIN : code)
  const line = { ...ids, provider, status, code, ...details, ms: elapsed(call) }
  // An unchecked delivery may come from anybody. It is not our failure, and nobody must be woken up for it.
  if (status >= 500 && !notChecked.is(error)) logger.error({ ...line, error }, 'webhook.failed')
  else if (status !== 429 && summary.takeLine()) logger.warn({ ...line, address }, 'webhook.refused')
  else summary.add({ ...details, requestId: ids.requestId, provider, address, status, code })
}

// The sender must wait because of its own requests. Every dependency is available.
const ASKED_IN_VAIN = 'asked_in_vain'

function isAskedInVain(error: AppError): boolean {
  return notChecked.is(error) && error.details.reason === CERTIFICATE_ASKED_IN_VAIN
}

function elapsed({ startedAt }: WebhookCall): number {
  return Math.round((performance.now() - startedAt) * 10) / 10
}
