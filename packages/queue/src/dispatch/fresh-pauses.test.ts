import { describe, expect, it } from 'vitest'
import { FreshPauses } from './fresh-pauses.ts'

function createPauses(refresh: () => Promise<void> = async () => undefined) {
  const clock = { now: 0 }
  const errors: unknown[] = []
  let reads = 0
  const fresh = new FreshPauses({
    pauses: {
      current: new Map(),
      refresh() {
        reads += 1
        return refresh()
      },
    },
    now: () => clock.now,
    onError: (error) => errors.push(error),
  })
  /** Looks every second for some seconds. */
  const look = async (seconds: number): Promise<void> => {
    for (let second = 0; second < seconds; second += 1) {
      clock.now += 1_000
      await fresh.refresh()
    }
  }
  return { fresh, clock, look, errors, reads: () => reads }
}

describe('fresh pauses', () => {
  it('are read every second while they are used', async () => {
    const { fresh, look, reads } = createPauses()
    for (let second = 0; second < 10; second += 1) {
      expect(fresh.use()).toBeNull()
      await look(1)
    }
    expect(reads()).toBe(10)
  })

  it('are read every fifteen seconds while they are not used', async () => {
    const { look, reads } = createPauses()
    await look(1)
    await look(40)
    expect(reads()).toBe(3)
  })

  it('are read before the first use after that, once for all that wait', async () => {
    const { fresh, look, reads } = createPauses()
    await look(5)
    expect(reads()).toBe(1)
    await Promise.all([fresh.use(), fresh.use()])
    expect(reads()).toBe(2)
    expect(fresh.use()).toBeNull()
  })

  it('count as they were known last if the read fails', async () => {
    const { fresh, look, errors } = createPauses(() => Promise.reject(new Error('no answer')))
    await look(1).catch(() => undefined)
    await look(1).catch(() => undefined)
    await fresh.refresh().catch(() => undefined)
    expect(fresh.use()).toBeNull()
    expect(errors).toEqual([])
  })

  it('do not hold up a use for longer than a second', async () => {
    let isAway = false
    const { fresh, look, clock } = createPauses(() => (isAway ? new Promise(() => undefined) : Promise.resolve()))
    await look(3)
    isAway = true
    clock.now += 1_000
    await fresh.use()
    expect(fresh.use()).toBeNull()
  })
})
