import { describe, expect, it } from 'vitest'
import { AddressLimits, workOf } from './address-limits.ts'

const LARGE = { isSigned: true, bytes: 16_385 }
const SMALL = { isSigned: true, bytes: 16_384 }
const UNSIGNED = { isSigned: false, bytes: 100 }

function limitsOf(failures = 10) {
  let time = 1_000_000
  const limits = new AddressLimits({ failures, windowSeconds: 10, clock: { now: () => time } })
  const policyOf = (address: string, request = LARGE): string | undefined =>
    limits.refusalOf(address, request)?.headers['RateLimit-Policy']
  return { limits, policyOf, pass: (ms: number) => (time += ms) }
}

const FAILED = '"failed";q=10;w=10'
const WORK = '"work";q=100;w=1'

describe('the bucket of an address', () => {
  it('refuses what has no signature after too many failures, and leaks them evenly', () => {
    const { limits, policyOf, pass } = limitsOf()
    for (let n = 0; n < 10; n += 1) {
      expect(policyOf('192.0.2.1', UNSIGNED)).toBeUndefined()
      expect(limits.charge('192.0.2.1', 0)).toBeNull()
    }
    expect([policyOf('192.0.2.1', UNSIGNED), policyOf('192.0.2.1')]).toEqual([FAILED, undefined])
    expect(policyOf('192.0.2.2', UNSIGNED)).toBeUndefined()
    expect(limits.charge('192.0.2.1', 0, { reason: 'why' })).toMatchObject({
      ...{ code: 'rate_limited', details: { reason: 'why' } },
      headers: { RateLimit: '"failed";r=0;t=1', 'Retry-After': '1' },
    })
    pass(1_000)
    expect(policyOf('192.0.2.1', UNSIGNED)).toBeUndefined()
  })

  it('refuses large requests with 20 ms of processor time, and all with 100; 100 ms leak in a second', () => {
    const { limits, policyOf, pass } = limitsOf()
    limits.charge('192.0.2.1', 19)
    expect(policyOf('192.0.2.1')).toBeUndefined()
    limits.charge('192.0.2.1', 1)
    expect([policyOf('192.0.2.1'), policyOf('192.0.2.1', SMALL), policyOf('192.0.2.2')]).toEqual([
      ...[WORK, undefined, undefined],
    ])
    limits.charge('192.0.2.1', 80)
    expect([policyOf('192.0.2.1', SMALL), policyOf('192.0.2.2', SMALL)]).toEqual([WORK, undefined])
    pass(1)
    expect(policyOf('192.0.2.1', SMALL)).toBeUndefined()
    pass(800)
    expect(policyOf('192.0.2.1')).toBeUndefined()
  })

  it('remembers a flood for three seconds, and loses nothing to a clock that is set back', () => {
    const { limits, policyOf, pass } = limitsOf()
    for (let n = 0; n < 1_000; n += 1) limits.charge('192.0.2.1', 50)
    pass(-3_600_000)
    expect(policyOf('192.0.2.1')).toBe(WORK)
    pass(2_801)
    expect(policyOf('192.0.2.1')).toBeUndefined()
  })

  it('never fills with a limit of 0', () => {
    const { limits, policyOf } = limitsOf(0)
    expect(limits.charge('192.0.2.1', 10_000)).toBeNull()
    expect([policyOf('192.0.2.1'), policyOf('192.0.2.1', UNSIGNED)]).toEqual([undefined, undefined])
  })

  it('lets 32 questions on the word of the address wait at a time', async () => {
    const { limits } = limitsOf()
    const { promise, resolve } = Promise.withResolvers<string>()
    const asked = Array.from({ length: 32 }, () => limits.asking('192.0.2.1', () => promise))
    await expect(limits.asking('192.0.2.1', () => promise)).rejects.toMatchObject({ code: 'overloaded' })
    expect(await limits.asking('192.0.2.2', async () => 'other')).toBe('other')
    resolve('answer')
    expect(await Promise.all(asked)).toHaveLength(32)
    expect(await limits.asking('192.0.2.1', () => promise)).toBe('answer')
  })
})

it('of very many addresses all that come late share one bucket, and empty ones make room', () => {
  const { limits, policyOf, pass } = limitsOf()
  for (let n = 0; n < 60_000; n += 1) limits.charge(`198.51.${n}.1`, 0.1)
  expect([policyOf('198.51.59999.1'), policyOf('never seen'), policyOf('198.51.1.1')]).toEqual([WORK, WORK, undefined])
  pass(10_000)
  limits.charge('192.0.2.1', 20)
  expect([policyOf('192.0.2.1'), policyOf('never seen')]).toEqual([WORK, undefined])
})

describe('workOf', () => {
  it('is what passed', () => {
    expect([workOf(0.2, 0), workOf(15, 1_048_576)]).toEqual([0.2, 15])
  })

  it('is no more than a body of its length can take, however long the machine paused', () => {
    expect(workOf(5_000, 200)).toBeLessThan(0.3)
    expect(workOf(5_000, 16_000)).toBeLessThan(4.2)
    expect(workOf(5_000, 1_048_576)).toBe(20)
  })
})
