import { describe, expect, it } from 'vitest'
import { runPeriodically } from './run-periodically.ts'

function runs(task: () => Promise<void>, onError: (error: unknown) => void = () => undefined) {
  return runPeriodically({ task, everyMs: 1, random: () => 0, onError })
}

describe('runPeriodically', () => {
  it('runs at once and again and again, until it is stopped', async () => {
    let count = 0
    const timer = runs(async () => {
      count += 1
    })
    expect(count).toBe(1)
    await expect.poll(() => count).toBeGreaterThan(5)
    await timer.stop()
    const after = count
    await new Promise((resolve) => setImmediate(resolve))
    expect(count).toBe(after)
  })

  it('never runs twice at once, and stops only when the current run has ended', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    let running = 0
    let most = 0
    const timer = runs(async () => {
      running += 1
      most = Math.max(most, running)
      await promise
      running -= 1
    })
    const stopped = timer.stop()
    expect(running).toBe(1)
    resolve()
    await stopped
    expect({ running, most }).toEqual({ running: 0, most: 1 })
  })

  it('continues after an error and reports it', async () => {
    const errors: unknown[] = []
    let count = 0
    const timer = runs(
      async () => {
        count += 1
        throw new Error(String(count))
      },
      (error) => errors.push(error),
    )
    await expect.poll(() => count).toBeGreaterThan(2)
    await timer.stop()
    expect(errors).toHaveLength(count)
  })

  it('runs at once when it is woken while it waits', async () => {
    let count = 0
    const task = async (): Promise<void> => {
      count += 1
    }
    const timer = runPeriodically({ task, everyMs: 3_600_000, random: () => 1, onError: () => undefined })
    await new Promise((resolve) => setImmediate(resolve))
    for (let woken = 2; woken < 5; woken += 1) {
      timer.wake()
      await expect.poll(() => count).toBe(woken)
    }
    await timer.stop()
    timer.wake()
    await new Promise((resolve) => setImmediate(resolve))
    expect(count).toBe(4)
  })

  it('runs once more if it is woken during a run', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    let count = 0
    const task = async (): Promise<void> => {
      count += 1
      await promise
    }
    const timer = runPeriodically({ task, everyMs: 3_600_000, random: () => 1, onError: () => undefined })
    timer.wake()
    expect(count).toBe(1)
    resolve()
    await expect.poll(() => count).toBe(2)
    await timer.stop()
  })
})
