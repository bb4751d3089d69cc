import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { born } from './process-lock.mjs'

const LONGEST_MS = 30_000
const POLL_MS = 20

/**
 * Waits until the last server, whose starter was killed, has ended. A database server writes its process id into the first line of
 * a file beside its data. Another process may have this id by now: so the wait has an end, and then the server itself decides.
 */
export async function untilReleased(file: string): Promise<void> {
  const pid = Number.parseInt(await readFile(file, 'utf8').catch(() => ''), 10)
  const deadline = performance.now() + LONGEST_MS
  while (pid > 0 && born(pid) !== undefined && performance.now() < deadline) await sleep(POLL_MS)
}
