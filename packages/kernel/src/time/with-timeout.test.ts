import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { TIMED_OUT, withTimeout } from './waits.ts'

describe('withTimeout', () => {
  it('returns a value that arrives in time', async () => {
    await expect(withTimeout(sleep(5, 'value'), 1_000)).resolves.toBe('value')
    await expect(withTimeout(Promise.resolve(undefined), 0)).resolves.toBeUndefined()
  })

  it('returns TIMED_OUT after the time limit, and ignores a later rejection', async () => {
    const fails = sleep(30).then(() => Promise.reject(new Error('too late')))
    await expect(withTimeout(fails, 5)).resolves.toBe(TIMED_OUT)
    await expect(fails).rejects.toThrow('too late')
  })

  it('passes a rejection on', async () => {
    await expect(withTimeout(Promise.reject(new Error('no')), 1_000)).rejects.toThrow('no')
  })

  it('leaves no timer behind', async () => {
    const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    const before = timers()
    await Promise.all([1, 2, 3].map((value) => withTimeout(Promise.resolve(value), 60_000)))
    expect(timers()).toBeLessThanOrEqual(before)
  })
})
