import { describe, expect, it } from 'vitest'
import { createAllowance } from './pace.ts'

describe('createAllowance', () => {
  it('allows a rate, and at most one second of it at once', () => {
    let now = 0
    const allowance = createAllowance({ ratePerSecond: 10, isPaused: () => false, now: () => now })
    expect(allowance.room).toBe(10)
    allowance.used(10)
    expect(allowance.room).toBe(0)
    now += 350
    expect(allowance.room).toBe(3)
    now += 60_000
    expect(allowance.room).toBe(10)
  })

  it('makes up for more than was allowed', () => {
    let now = 0
    const allowance = createAllowance({ ratePerSecond: 10, isPaused: () => false, now: () => now })
    allowance.used(15)
    now += 500
    expect(allowance.room).toBe(0)
    now += 100
    expect(allowance.room).toBe(1)
  })

  it('has no limit without a rate', () => {
    const allowance = createAllowance({ ratePerSecond: null, isPaused: () => false, now: () => 0 })
    allowance.used(1_000_000)
    expect(allowance.room).toBe(Number.POSITIVE_INFINITY)
  })

  it('allows nothing while the handler is paused', () => {
    let isPaused = true
    const allowance = createAllowance({ ratePerSecond: 10, isPaused: () => isPaused, now: () => 0 })
    expect([allowance.room, allowance.isPaused]).toEqual([0, true])
    isPaused = false
    expect([allowance.room, allowance.isPaused]).toEqual([10, false])
  })
})
