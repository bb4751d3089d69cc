import type { Logger } from '@oncehook/kernel/logger'
import type { NotRequeued } from './requeue-dead.ts'
import type { Counted } from './unwritten-counts.ts'

/** Where it is reported what became of redeliveries. */
export interface ReportDeps {
  readonly logger: Logger
  readonly onBodyConflict: (provider: string, times: number) => void
  readonly onRedelivered: (provider: string, outcome: 'revived' | NotRequeued) => void
}

/** A redelivery of which everything is written. */
export interface WrittenDelivery {
  readonly item: Counted
  /** Whether its body is not the stored one. */
  readonly differs: boolean
  /** Null if there is nothing to revive. */
  readonly requeues: true | NotRequeued | null
}

/** Logs and counts what became of a redelivery. `code`: the database refused to write it. */
export function reportWritten(
  deps: ReportDeps,
  { item, differs, requeues }: WrittenDelivery,
  code: number | undefined,
): void {
  if (code !== undefined) logRefusal(deps, item, code)
  else if (differs && item.isFurther !== true) logBodyConflict(deps, item)
  else if (requeues === true) logRequeued(deps, item)
  else if (requeues !== null) logNotRequeued(deps, item, requeues)
}

// If written again, it would be refused again, because nothing in it changes.
function logRefusal({ logger }: ReportDeps, { provider, event, times }: Counted, code: number): void {
  logger.warn({ provider, eventId: event.id.slice(0, 64), times, code }, 'inbox.count-refused')
}

function logBodyConflict({ logger, onBodyConflict }: ReportDeps, { provider, event, times }: Counted): void {
  onBodyConflict(provider, times)
  logger.warn({ provider, eventId: event.id.slice(0, 64), times }, 'webhook.mismatch')
}

function logRequeued({ logger, onRedelivered }: ReportDeps, { provider, event }: Counted): void {
  onRedelivered(provider, 'revived')
  logger.info({ provider, eventId: event.id.slice(0, 64) }, 'event.revived')
}

function logNotRequeued(deps: ReportDeps, { provider, event }: Counted, why: NotRequeued): void {
  deps.onRedelivered(provider, why)
  deps.logger.warn({ provider, eventId: event.id.slice(0, 64), why }, 'event.not-revived')
}
