import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '@oncehook/kernel/log/logger'
import type { Claims } from '../../inbox/claims/claims.ts'
import type { TaskDeps } from './process-tasks.ts'

/** What the release depends on. */
interface ReleaseUnreadDeps {
  readonly claims: Pick<Claims, 'release'>
  readonly logger: Pick<Logger, 'warn'>
  /** The handler whose tasks they are. */
  readonly handler: string
  /** Counts the error of a read. */
  readonly countError: (error: unknown) => void
}

// They are due as soon as they are released.
const PAUSE_MS = 500

/**
 * Creates what releases claims whose tasks the database did not yield, after a pause. Nothing counts for or against the tasks
 * or the handler.
 */
export function createReleaseUnread({
  claims,
  logger,
  handler,
  countError,
}: ReleaseUnreadDeps): TaskDeps['releaseUnread'] {
  return async (unread, readError) => {
    countError(readError)
    const events = unread.length
    logger.warn({ error: readError, handler, events }, 'dispatch.database-failed')
    await sleep(PAUSE_MS)
    try {
      await claims.release(unread)
    } catch (error) {
      logger.warn({ error, events }, 'event.release-failed')
    }
  }
}
