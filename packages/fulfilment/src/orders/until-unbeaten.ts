import { setTimeout as sleep } from 'node:timers/promises'
import { unavailable } from '@oncehook/kernel/error-codes'

const MAX_ROUNDS = 64
const LAST_ROUND_BEGINS_MS = 6_000
const WAIT_MS = 20

/**
 * Runs a round of "read, decide, write if nobody was faster" until one is not beaten: a beaten round gives null. In
 * every round of competing writers one of them gets through, so the bound is met only in a crowd.
 * @throws unavailable beyond the bound
 */
export async function untilUnbeaten<T>(random: () => number, round: () => Promise<T | null>): Promise<T> {
  const startedAt = performance.now()
  for (let rounds = 0; rounds < MAX_ROUNDS && performance.now() - startedAt < LAST_ROUND_BEGINS_MS; rounds += 1) {
    if (rounds > 0) await sleep(random() * WAIT_MS)
    const result = await round()
    if (result !== null) return result
  }
  throw unavailable({ reason: 'crowded' })
}
