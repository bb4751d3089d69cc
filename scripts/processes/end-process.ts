import { setTimeout as sleep } from 'node:timers/promises'
import { born } from './process-lock.mjs'

const POLL_MS = 25

/**
 * Sends SIGTERM to a process, child or not, and waits until it has ended. Kills it after `graceMs`, or as soon as
 * `hurry` is aborted. Returns whether it ended without being killed.
 */
export async function endProcess(pid: number, graceMs: number, hurry?: AbortSignal): Promise<boolean> {
  const impatient = AbortSignal.any([AbortSignal.timeout(graceMs), ...(hurry ? [hurry] : [])])
  signal(pid, 'SIGTERM')
  while (born(pid) !== undefined && !impatient.aborted) await sleep(POLL_MS)
  if (born(pid) === undefined) return true
  signal(pid, 'SIGKILL')
  const buried = AbortSignal.timeout(1_000)
  while (born(pid) !== undefined && !buried.aborted) await sleep(POLL_MS)
  return false
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
