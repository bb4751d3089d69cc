import type { Logger } from '@oncehook/kernel/log/logger'
import type { SummaryLines } from '@oncehook/kernel/log/summary-lines'
import { type Claim, type SettledClaim, textOf } from '../claim/claim.ts'

// Ids and types come from senders.
const MOST_CHARACTERS = 64

const MOST_DEFERRED = 100

interface SettledLog {
  readonly logger: Logger
  readonly summaries: Pick<SummaryLines, 'writeLater'>
  readonly handler: string
  readonly fields: readonly string[]
}

/**
 * Creates the log of one dispatcher: a line for each event that is settled. In each second, 100 events that are tried again
 * get a separate line. The others are counted in one line, so that they push no other lines out of the log.
 */
export function createSettledLog({ logger, summaries, handler, fields }: SettledLog): (settled: SettledClaim) => void {
  const lineOf = ({ claim, attempt: { outcome, code, ms } }: SettledClaim): object => ({
    ...describe(claim, fields),
    ...{ outcome, code, ms },
  })
  let deferred = 0
  const write = (): void => {
    const times = deferred - MOST_DEFERRED
    if (times > 0) logger.warn({ handler, times }, 'event.deferred')
    deferred = 0
  }
  const defer = (settled: SettledClaim, delayMs: number): void => {
    if (deferred === 0) summaries.writeLater(write)
    deferred += 1
    if (deferred <= MOST_DEFERRED) logger.warn({ ...lineOf(settled), delayMs }, 'event.deferred')
  }
  return (settled) => {
    const { settlement } = settled
    if (settlement.state === 'pending') defer(settled, settlement.delayMs)
    else if (settlement.state === 'dead') logger.error({ ...lineOf(settled), reason: settlement.reason }, 'event.dead')
    else logger.info(lineOf(settled), 'event.settled')
  }
}

function describe({ provider, handler, eventId, record }: Claim, fields: readonly string[]): object {
  const cut = (text: string): string => text.slice(0, MOST_CHARACTERS)
  const others = fields.map((name) => [name, cut(textOf(record[name]))])
  return { provider, handler, eventId: cut(eventId), ...Object.fromEntries(others) }
}
