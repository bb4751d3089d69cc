import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { TIMED_OUT, withTimeout } from './waits.ts'

describe('withTimeout', () => {
  it('returns TIMED_OUT after the time limit, and ignores a later rejection', async () => {
    const fails = sleep(30).then(() => Promise.reject(new Error('too late')))
    await expect(withTimeout(fails, 5)).resolves.toBe(TIMED_OUT)
    await expect(fails).rejects.toThrow('too late')
  })
})
