import { writeBounded } from '@oncehook/kernel/log/bounded-lines'
import type { Logger } from '@oncehook/kernel/log/logger'
import { type Claim, type SettledClaim, textOf } from '../claim/claim.ts'

// Ids and types come from senders.
const MOST_CHARACTERS = 64

interface SettledLog {
  readonly logger: Logger
  readonly handler: string
  readonly fields: readonly string[]
}

/** Creates the log of one dispatcher: a line for each event that is settled. Those of events that are tried again are bounded. */
export function createSettledLog({ logger, handler, fields }: SettledLog): (settled: SettledClaim) => void {
  const lineOf = ({ claim, attempt: { outcome, code, ms } }: SettledClaim): object => ({
    ...describe(claim, fields),
    ...{ outcome, code, ms },
  })
  const defer = (settled: SettledClaim, delayMs: number): void => {
    const many = (counted: object): void => logger.warn(counted, 'event.deferred')
    const one = (): void => many({ ...lineOf(settled), delayMs })
    writeBounded(logger, `event.deferred ${handler}`, { handler, code: settled.attempt.code }, { one, many })
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
