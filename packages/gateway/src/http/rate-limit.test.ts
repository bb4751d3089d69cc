import { describe, expect, it } from 'vitest'
import { type Addressed, clientAddress, createRateLimit } from './rate-limit.ts'

function limitOf(limit: number, windowSeconds = 10) {
  let time = 1_000_000_000
  const clock = { now: () => time }
  return { limit: createRateLimit({ name: 'test', limit, windowSeconds, clock }), pass: (ms: number) => (time += ms) }
}

describe('createRateLimit', () => {
  it('counts each key down and begins anew with each window', () => {
    const { limit, pass } = limitOf(2)
    expect([limit.count('a'), limit.count('a'), limit.count('a')].map(({ remaining }) => remaining)).toEqual([1, 0, -1])
    expect(limit.peek('a').remaining).toBe(-1)
    expect(limit.count('b').remaining).toBe(1)
    pass(10_000)
    expect(limit.peek('a')).toEqual({ remaining: 2, resetSeconds: 10 })
  })

  it('tells whole seconds until the next window, one at least', () => {
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

describe('clientAddress', () => {
  const request = (remoteAddress: string, forwarded?: string): Addressed => ({
    socket: { remoteAddress },
    headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
  })

  it.each([
    ['the socket, where no proxy is trusted', '192.0.2.1', '198.51.100.1', 0, '192.0.2.1'],
    ['an IPv4 address in its own form', '::ffff:192.0.2.1', undefined, 0, '192.0.2.1'],
    ['what the last proxy saw', '192.0.2.1', '10.0.0.1, 198.51.100.1', 1, '198.51.100.1'],
    ['what the outermost of two proxies saw', '192.0.2.1', '1.2.3.4, 198.51.100.1, 10.0.0.1', 2, '198.51.100.1'],
    ['the socket, where the list is too short', '192.0.2.1', '198.51.100.1', 2, '192.0.2.1'],
    ['the network of an IPv6 address', '2001:db8:1:2:3:4:5:6', undefined, 0, '2001:db8:1:2'],
    ['the network of a shortened IPv6 address', '2001:db8::6', undefined, 0, '2001:db8:0:0'],
    ['a text that is no address, cut short', '192.0.2.1', 'x'.repeat(1_000), 1, 'x'.repeat(64)],
  ] as const)('is %s', (...[, remoteAddress, forwarded, hops, address]) => {
    expect(clientAddress(request(remoteAddress, forwarded), hops)).toBe(address)
  })
})
