import { setTimeout as sleep } from 'node:timers/promises'
import { backoffMs } from '@oncehook/kernel/backoff'
import type { WriteLog } from '../handler-log.ts'
import type { ClaimedMessage, Outbox } from '../store.ts'

/** What the removal needs. */
interface RemovalParts {
  readonly outbox: Pick<Outbox, 'remove'>
  readonly log: WriteLog
  readonly random: () => number
}

/** The messages that this worker has sent. */
export interface SentMessages {
  /** Whether a message was sent and is perhaps not removed. It must neither be sent again nor be dead. */
  has(message: ClaimedMessage): boolean
  /**
   * Removes a message that was sent. Tries again a few times; if that fails, or takes too long, its lease ends and it is claimed
   * again. Never rejects.
   */
  remove(message: ClaimedMessage, closing: AbortSignal): Promise<void>
}

const PAUSE = { baseMs: 250, capMs: 2_000 }
const MOST_TRIES = 4
// Another worker may remove one of them, which this one does not learn.
const MOST_REMEMBERED = 1_000

/** Creates the memory of one worker, and its removals. */
export function createSentMessages({ outbox, log, random }: RemovalParts): SentMessages {
  const unremoved = new Set<string>()
  const remember = (name: string): void => {
    unremoved.add(name)
    const [oldest] = unremoved
    if (unremoved.size > MOST_REMEMBERED && oldest !== undefined) unremoved.delete(oldest)
  }
  const tryRemoving = async (message: ClaimedMessage, closing: AbortSignal): Promise<boolean> => {
    for (let failures = 0; ; failures += 1) {
      try {
        return await outbox.remove(message)
      } catch (error) {
        if (failures + 1 >= MOST_TRIES || closing.aborted) throw error
        await sleep(backoffMs(PAUSE, failures, random), undefined, { signal: closing }).catch(() => undefined)
      }
    }
  }
  return {
    has: (message) => unremoved.has(nameOf(message)),
    async remove(message, closing) {
      const { name, key, attempt } = message
      // Before the first try: it may take longer than the lease.
      remember(nameOf(message))
      try {
        // If not, its lease has ended: it may be on its way to this worker as a new claim.
        if (await tryRemoving(message, closing)) unremoved.delete(nameOf(message))
      } catch (error) {
        log({ level: 'error', message: 'A sent message cannot be removed', name, key, attempt, error })
      }
    },
  }
}

/** An expired key can come again, with another id. A store may have ids that are no texts. */
function nameOf({ key, id }: ClaimedMessage): string {
  return `${key} ${String(id)}`
}
