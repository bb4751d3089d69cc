import type { Others, Way } from '../waiting-claims.ts'

/** The place of one dispatcher among those of its process. */
export interface Turn {
  readonly others: Others
  /** Asks the others to begin nothing, so that an exclusive batch has its turn soon. Holds for a second. */
  want(): void
  /** Calls this once, as soon as a batch of another dispatcher has ended. */
  wake(callback: () => void): void
  began(way: Way): void
  ended(way: Way): void
}

// A dispatcher that waits asks again twice a second. If it was paused or stopped, the others continue.
const WANTED_MS = 1_000

/**
 * Creates the turns of the dispatchers of one process: each call returns the place of one more. An exclusive batch may kill
 * the process, so nothing else is in progress while it runs. Otherwise a death that another batch causes would count
 * against its event. `now`: milliseconds that never go backwards.
 */
export function createProcessTurns(now: () => number): () => Turn {
  const running = new Map<Turn, number>()
  const callbacks = new Set<() => void>()
  let isExclusive = false
  let wanted: { readonly by: Turn; readonly until: number } | null = null
  return () => {
    const isWantedByOther = (): boolean => wanted !== null && wanted.by !== own && now() < wanted.until
    const own: Turn = {
      get others() {
        const isElsewhere = [...running.keys()].some((one) => one !== own)
        if ((isExclusive && isElsewhere) || isWantedByOther()) return 'exclusive'
        return isElsewhere ? 'batches' : 'nothing'
      },
      want() {
        if (!isWantedByOther()) wanted = { by: own, until: now() + WANTED_MS }
      },
      wake: (callback) => void callbacks.add(callback),
      began(way) {
        running.set(own, (running.get(own) ?? 0) + 1)
        if (way !== 'exclusive') return
        isExclusive = true
        wanted = null
      },
      ended(way) {
        const left = (running.get(own) ?? 1) - 1
        if (left === 0) running.delete(own)
        else running.set(own, left)
        if (way === 'exclusive') isExclusive = false
        const waiting = [...callbacks]
        callbacks.clear()
        for (const callback of waiting) callback()
      },
    }
    return own
  }
}
