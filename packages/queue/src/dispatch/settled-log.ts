import type { Logger } from '@oncehook/kernel/log/logger'
import type { SummaryLines } from '@oncehook/kernel/log/summary-lines'
import { type Claim, type SettledClaim, textOf } from '../claim/claim.ts'
import type { AttemptResult } from '../transitions.ts'

// Ids and types come from senders.
const MOST_CHARACTERS = 64

const MOST_DEFERRED = 100
// A handler chooses its codes.
const MOST_CODES = 10
const OTHERS = 'others'

/** Where the lines go, whose tasks they are about, and which fields of their records they have besides. */
interface SettledLog {
  readonly logger: Logger
  readonly summaries: Pick<SummaryLines, 'writeLater'>
  readonly handler: string
  readonly fields: readonly string[]
}

/**
 * Creates the log of one dispatcher: a line for each event that is settled. In each second, 100 events that are tried again
 * get a separate line. The others are counted in one line for each code, so that they push no other lines out of the log.
 */
export function createSettledLog({ logger, summaries, handler, fields }: SettledLog): (settled: SettledClaim) => void {
  const lineOf = ({ claim, attempt: { outcome, code, ms } }: SettledClaim): object => ({
    ...describe(claim, fields),
    ...{ outcome, code, ms },
  })
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

function describe({ provider, handler, eventId, record }: Claim, fields: readonly string[]): object {
  const cut = (text: string): string => text.slice(0, MOST_CHARACTERS)
  const others = fields.map((name) => [name, cut(textOf(record[name]))])
  return { provider, handler, eventId: cut(eventId), ...Object.fromEntries(others) }
}
