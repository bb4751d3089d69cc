import { withTimeout } from '@oncehook/kernel/with-timeout'

const LAST_WORK_MS = 800

/**
 * Stops what may be cut off: statistics, and work that the next process takes up where it stands. Where a database that is
 * away keeps it waiting, the stop goes on: it is orderly without.
 */
export async function stopInTime(worker: { stop(): Promise<void> }): Promise<void> {
  await withTimeout(worker.stop(), LAST_WORK_MS)
}
