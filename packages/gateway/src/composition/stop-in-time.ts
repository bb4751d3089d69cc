import { withTimeout } from '@oncehook/kernel/time/waits'

const LAST_WORK_MS = 800

/**
 * Stops a worker that may be interrupted, such as statistics, or work that the next process continues. If an unavailable
 * database delays it, the stop continues without it and still counts as orderly.
 */
export async function stopInTime(worker: { stop(): Promise<void> }): Promise<void> {
  await withTimeout(worker.stop(), LAST_WORK_MS)
}
