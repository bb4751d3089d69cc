export type Slots = ReturnType<typeof createSlots>

/** Creates `most` slots, for which at most `mostWaiting` may wait, in order of their arrival. */
export function createSlots(most: number, mostWaiting: number) {
  let inUse = 0
  const waiting = new Set<() => void>()
  const idle = new Set<() => void>()
  const free = (): void => {
    inUse -= 1
    const [next] = waiting
    next?.()
    if (inUse > 0) return
    for (const resolve of idle) resolve()
    idle.clear()
  }
  const occupy = (): (() => void) => {
    inUse += 1
    return free
  }
  return {
    get inUse() {
      return inUse
    },
    /** Waits for a slot, for at most `waitMs`. Returns the function that frees it, or null if there is none in time. */
    async take(waitMs: number): Promise<(() => void) | null> {
      if (inUse < most) return occupy()
      if (waiting.size >= mostWaiting) return null
      return new Promise((resolve) => {
        const start = (): void => {
          waiting.delete(start)
          clearTimeout(timer)
          resolve(occupy())
        }
        const timer = setTimeout(() => {
          waiting.delete(start)
          resolve(null)
        }, waitMs)
        waiting.add(start)
      })
    },
    /** Resolves when no slot is in use. */
    async drained(): Promise<void> {
      if (inUse > 0) await new Promise<void>((resolve) => idle.add(resolve))
    },
  }
}
