import type { Logger } from '@oncehook/kernel/logger'
import type { SettledClaim } from '../inbox/claims/claim.ts'

// Ids and types come from senders.
const MOST_CHARACTERS = 64

/** Logs the result of an attempt: one line for each event. */
export function logSettled(logger: Logger, { claim, settlement, attempt }: SettledClaim): void {
  const { id, type, facts } = claim.event
  const line = {
    requestId: claim.requestId,
    provider: claim.provider,
    handler: claim.handler,
    eventId: id.slice(0, MOST_CHARACTERS),
    type: type.slice(0, MOST_CHARACTERS),
    orderId: facts.orderId.slice(0, MOST_CHARACTERS),
    outcome: attempt.outcome,
    code: attempt.code,
    ms: attempt.ms,
  }
  if (settlement.state === 'dead') logger.error({ ...line, reason: settlement.reason }, 'event.dead')
  else if (settlement.state === 'pending') logger.warn({ ...line, delayMs: settlement.delayMs }, 'event.deferred')
  else logger.info(line, 'event.settled')
}
