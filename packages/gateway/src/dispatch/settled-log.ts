import type { Logger } from '@oncehook/kernel/log/logger'
import type { SummaryLines } from '@oncehook/kernel/log/summary-lines'
import type { AttemptResult, SettledClaim } from '../inbox/claims/claim.ts'

/** Logs the result of an attempt. */
type LogSettled = (settled: SettledClaim) => void

// Ids and types come from senders.
const MOST_CHARACTERS = 64

const MOST_DEFERRED = 100
// A handler chooses its codes.
const MOST_CODES = 10
const OTHERS = 'others'

/** Where the lines go, and whose tasks they are about. */
interface SettledLogDeps {
  readonly logger: Logger
  readonly summaries: Pick<SummaryLines, 'writeLater'>
  readonly handler: string
}

/**
 * Creates the log of one dispatcher: a line for each event that is settled. In each second, 100 events that are tried again
 * get a separate line. The others are counted in one line for each code, so that they push no other lines out of the log.
 */
export function createSettledLog({ logger, summaries, handler }: SettledLogDeps): LogSettled {
  const counted = new Map<string, number>()
  let deferred = 0
  const write = (): void => {
    for (const [code, times] of counted) logger.warn({ handler, code, times }, 'event.deferred')
    counted.clear()
    deferred = 0
  }
  const count = ({ code, outcome }: AttemptResult): void => {
    const own = code ?? outcome
    const key = counted.has(own) || counted.size < MOST_CODES ? own : OTHERS
    counted.set(key, (counted.get(key) ?? 0) + 1)
  }
  const defer = (settled: SettledClaim, delayMs: number): void => {
    if (deferred === 0) summaries.writeLater(write)
    deferred += 1
    if (deferred > MOST_DEFERRED) count(settled.attempt)
    else logger.warn({ ...lineOf(settled), delayMs }, 'event.deferred')
  }
  return (settled) => {
    const { settlement } = settled
    if (settlement.state === 'pending') defer(settled, settlement.delayMs)
    else if (settlement.state === 'dead') logger.error({ ...lineOf(settled), reason: settlement.reason }, 'event.dead')
    else logger.info(lineOf(settled), 'event.settled')
  }
}

function lineOf({ claim, attempt }: SettledClaim): object {
  const { id, type, facts } = claim.event
  return {
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
}
