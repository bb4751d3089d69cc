import type { Logger } from '@oncehook/kernel/log/logger'
import type { Clock } from '@oncehook/kernel/time/clock'
import type { Db } from 'mongodb'
import { createPeriodicFlush } from '../inbox/statistics/periodic-flush.ts'
import type { OtherProvider } from './causes-of.ts'
import { describeRefusal, type RefusalAnswer, type RefusedDelivery } from './describe-refusal.ts'
import { networkOf } from './network-of.ts'
import { RefusalBuffer } from './refusal-buffer.ts'
import { ringOf } from './refusal-rings.ts'
import { writeRefusals } from './write-refusals.ts'

/** Dependencies of the records of refused deliveries. `flushMs` is how long a record may wait in memory. */
export interface RefusalsDeps {
  readonly db: Db
  readonly clock: Clock
  readonly logger: Logger
  readonly flushMs: number
  /** The current providers. */
  readonly providers: () => ReadonlyMap<string, OtherProvider>
  /** Counts deliveries without a record: there were too many of them, or the database did not store them. */
  readonly onNotKept: (why: 'too_many' | 'not_stored', times: number) => void
}

/**
 * Records of refused deliveries for operators. They are limited in memory and in the database, kept on a best-effort
 * basis and written after the answer, so they delay no delivery.
 */
export interface Refusals {
  /** Notes a refused delivery. Its body is not used after the call. */
  note(refused: RefusedDelivery, answer: RefusalAnswer): void
  /** Ends the periodic writes and writes once more. */
  stop(): Promise<void>
}

/** Creates the records and starts their periodic write. */
export function createRefusals({ db, clock, logger, flushMs, providers, onNotKept }: RefusalsDeps): Refusals {
  const buffer = new RefusalBuffer()
  const slots = new Map<string, readonly number[]>()
  const { stop } = createPeriodicFlush(async () => {
    const now = clock.now()
    const contents = buffer.take(now)
    if (contents.length === 0) return
    const records = contents.reduce((sum, { kept }) => sum + kept.length, 0)
    try {
      const refused = await writeRefusals({ db, now, slots }, contents)
      if (refused > 0) onNotKept('not_stored', refused)
    } catch (error) {
      onNotKept('not_stored', records)
      logger.warn({ error, records }, 'refusals.dropped')
    }
  }, flushMs)
  return {
    stop,
    note(refused, answer) {
      const { name: provider } = refused.provider
      const origin = { network: networkOf(refused.address), now: clock.now() }
      const ring = { provider, ring: ringOf(answer.code, answer.why) }
      const describe = () => describeRefusal(refused, answer, { ...origin, providers: providers().values() })
      if (!buffer.add(ring, origin, describe)) onNotKept('too_many', 1)
    },
  }
}
