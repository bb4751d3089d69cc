import { describe, expect, it } from 'vitest'
import { oneAtATime } from './polled-gauges.ts'

describe('oneAtATime', () => {
  it('shares a look that is in progress, and begins a new one after it', async () => {
    const ends: ((value: number) => void)[] = []
    const look = oneAtATime(() => new Promise<number>((resolve) => ends.push(resolve)))
    const both = [look(), look()]
    expect(ends).toHaveLength(1)
    ends[0]?.(1)
    expect(await Promise.all(both)).toEqual([1, 1])
    const next = look()
    ends[1]?.(2)
    expect(await next).toBe(2)
  })

  it('begins a new one after a failure', async () => {
    let looks = 0
    const look = oneAtATime(async () => {
      looks += 1
      if (looks === 1) throw new Error('no answer')
      return looks
    })
    await expect(look()).rejects.toThrow('no answer')
    expect(await look()).toBe(2)
  })
})
