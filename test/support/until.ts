import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'

const POLL_MS = 20
const LATEST_MS = 120_000

/** Reads repeatedly until the value is as wanted, and returns it. Throws with the last one after two minutes or `withinMs`. */
export async function until<T>(
  read: () => T | Promise<T>,
  isWanted: (value: T) => boolean,
  withinMs = LATEST_MS,
): Promise<T> {
  const deadline = performance.now() + withinMs
  for (;;) {
    const value = await read()
    if (isWanted(value)) return value
    if (performance.now() > deadline) throw new Error(`Still not as wanted: ${JSON.stringify(value)?.slice(0, 2_000)}`)
    await sleep(POLL_MS)
  }
}

/** Reads repeatedly until the value equals the wanted one. */
export async function untilEqual<T>(read: () => T | Promise<T>, wanted: T): Promise<T> {
  return until(read, (value) => isDeepStrictEqual(value, wanted))
}
