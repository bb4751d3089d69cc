import { describe, expect, it } from 'vitest'
import { createRateLimit } from './rate-limit.ts'

function limitOf(limit: number) {
  let time = 1_000_000_000
  const clock = { now: () => time }
  const options = { name: 'test', limit, windowSeconds: 10, clock }
  return { limit: createRateLimit(options), pass: (ms: number) => (time += ms) }
}

describe('createRateLimit', () => {
  it('counts each key down and starts again with each window', () => {
    const { limit, pass } = limitOf(2)
    expect([limit.count('a'), limit.count('a'), limit.count('a')].map(({ remaining }) => remaining)).toEqual([1, 0, -1])
    expect(limit.peek('a').remaining).toBe(-1)
    expect(limit.count('b').remaining).toBe(1)
    pass(10_000)
    expect(limit.peek('a')).toEqual({ remaining: 2, resetSeconds: 10 })
  })

  it('releases what was counted, but no more in a later window', () => {
    const { limit, pass } = limitOf(2)
    limit.count('a')
    limit.count('a', -1)
    expect(limit.peek('a').remaining).toBe(2)
    limit.count('a')
    pass(10_000)
    limit.count('a', -1)
    expect(limit.peek('a').remaining).toBe(2)
  })

  it('gives whole seconds until the next window, at least one', () => {
    const { limit, pass } = limitOf(2)
    expect(limit.peek('a').resetSeconds).toBe(10)
    pass(9_001)
    expect(limit.peek('a').resetSeconds).toBe(1)
    pass(998)
    expect(limit.refusal(limit.count('a')).headers).toEqual({
      'RateLimit-Policy': '"test";q=2;w=10',
      RateLimit: '"test";r=0;t=1',
      'Retry-After': '1',
    })
  })

  it('has no limit and no headers with 0', () => {
    const { limit } = limitOf(0)
    for (let n = 0; n < 1_000; n += 1) limit.count('a')
    expect(limit.peek('a').remaining).toBe(Number.POSITIVE_INFINITY)
    expect(limit.headers(limit.peek('a'))).toEqual({})
  })

  it('counts amounts too, and gives whole numbers', () => {
    const { limit } = limitOf(2)
    expect(limit.count('a', 1.5).remaining).toBe(0.5)
    expect(limit.headers(limit.peek('a')).RateLimit).toBe('"test";r=0;t=10')
  })

  it('keeps its memory bounded whatever 200,000 keys come, and those that came first keep their own count', () => {
    const { limit } = limitOf(5)
    limit.count('first')
    globalThis.gc?.()
    const before = process.memoryUsage().heapUsed
    for (let n = 0; n < 200_000; n += 1) limit.count(`198.51.${n}.1`)
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(50_000_000)
    expect(limit.peek('first').remaining).toBe(4)
    expect(limit.peek('198.51.1.1').remaining).toBe(4)
    expect(limit.peek('never seen').remaining).toBeLessThan(0)
    expect(limit.peek('198.51.199999.1').remaining).toBeLessThan(0)
  })
})
