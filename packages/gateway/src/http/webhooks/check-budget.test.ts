import { describe, expect, it } from 'vitest'
import { CheckBudget, workOf } from './check-budget.ts'
import { KnownAddresses } from './known-addresses.ts'

function budgetOf({ isLimited = true } = {}) {
  let time = 1_000_000
  const known = new KnownAddresses()
  const budget = new CheckBudget({ clock: { now: () => time }, known, isLimited })
  const policyOf = (address: string, isSmall = false): string | undefined =>
    budget.refusalOf(address, isSmall)?.headers['RateLimit-Policy']
  return { budget, known, policyOf, pass: (ms: number) => (time += ms) }
}

const WORK = '"work";q=100;w=1'
const STRANGERS = '"strangers";q=250;w=1'

describe('CheckBudget', () => {
  it('gives an address 100 ms for each second, which come back evenly', () => {
    const { budget, policyOf, pass } = budgetOf()
    budget.charge('192.0.2.1', 99)
    expect(policyOf('192.0.2.1')).toBeUndefined()
    budget.charge('192.0.2.1', 11)
    expect([policyOf('192.0.2.1'), policyOf('192.0.2.2')]).toEqual([WORK, undefined])
    pass(100)
    expect(policyOf('192.0.2.1')).toBe(WORK)
    pass(1)
    expect(policyOf('192.0.2.1')).toBeUndefined()
  })

  it('gives all unknown addresses together 250 ms, and known ones their own share', () => {
    const { budget, known, policyOf, pass } = budgetOf()
    known.add('203.0.113.1')
    for (let n = 0; n < 25; n += 1) budget.charge(`192.0.2.${n}`, 10)
    expect([policyOf('198.51.100.1'), policyOf('203.0.113.1')]).toEqual([STRANGERS, undefined])
    pass(1)
    expect(policyOf('198.51.100.1')).toBeUndefined()
  })

  it('does not charge unknown addresses for a known one, which may use three times as much', () => {
    const { budget, known, policyOf } = budgetOf()
    known.add('203.0.113.1')
    budget.charge('203.0.113.1', 299)
    expect([policyOf('203.0.113.1'), policyOf('192.0.2.1')]).toEqual([undefined, undefined])
    budget.charge('203.0.113.1', 1)
    expect([policyOf('203.0.113.1'), policyOf('192.0.2.1')]).toEqual(['"work";q=300;w=1', undefined])
  })

  it('refuses small deliveries to unknown addresses only, when these have taken twice their share', () => {
    const { budget, known, policyOf, pass } = budgetOf()
    known.add('203.0.113.1')
    for (let n = 0; n < 49; n += 1) budget.charge(`192.0.2.${n}`, 10)
    expect(policyOf('198.51.100.1', true)).toBeUndefined()
    for (let n = 0; n < 100; n += 1) budget.charge(`192.0.2.${n}`, 10)
    expect([policyOf('198.51.100.1', true), policyOf('203.0.113.1', true)]).toEqual([STRANGERS, undefined])
    pass(1_001)
    expect(policyOf('198.51.100.1', true)).toBeUndefined()
  })

  it('remembers a flood for two seconds beyond its end, and no clock that is set back gives time', () => {
    const { budget, policyOf, pass } = budgetOf()
    for (let n = 0; n < 1_000; n += 1) budget.charge('192.0.2.1', 50)
    pass(-3_600_000)
    expect(policyOf('192.0.2.1')).toBe(WORK)
    budget.charge('192.0.2.1', 50)
    pass(2_001)
    expect(policyOf('192.0.2.1')).toBeUndefined()
  })

  it('holds small deliveries up for no longer where the clock is set back after a flood', () => {
    const { budget, policyOf, pass } = budgetOf()
    for (let n = 0; n < 200; n += 1) budget.charge(`192.0.2.${n}`, 10)
    pass(-3_600_000)
    expect(policyOf('198.51.100.1', true)).toBe(STRANGERS)
    pass(1_001)
    expect(policyOf('198.51.100.1', true)).toBeUndefined()
  })

  it('keeps its memory bounded: of very many addresses all that come late share one account', () => {
    const { budget, policyOf, pass } = budgetOf()
    for (let n = 0; n < 200_000; n += 1) {
      budget.charge(`198.51.${n}.1`, 0.1)
      if (n % 100 === 0) pass(0.1)
    }
    expect(policyOf('198.51.199999.1')).toBe(WORK)
    expect(policyOf('never seen')).toBe(WORK)
    pass(10_000)
    budget.charge('192.0.2.1', 1)
    expect([policyOf('192.0.2.1'), policyOf('never seen')]).toEqual([undefined, undefined])
  })

  it('keeps an account for each known address, however many others there are', () => {
    const { budget, known, policyOf } = budgetOf()
    for (let n = 0; n < 30_000; n += 1) budget.charge(`198.51.${n}.1`, 10)
    known.add('203.0.113.1')
    expect([policyOf('never seen'), policyOf('203.0.113.1')]).toEqual([WORK, undefined])
    budget.charge('203.0.113.1', 299)
    expect(policyOf('203.0.113.1')).toBeUndefined()
    budget.charge('203.0.113.1', 1)
    expect(policyOf('203.0.113.1')).toBe('"work";q=300;w=1')
  })

  it('limits nothing if there is no limit', () => {
    const { budget, policyOf } = budgetOf({ isLimited: false })
    budget.charge('192.0.2.1', 10_000)
    expect(policyOf('192.0.2.1')).toBeUndefined()
  })
})

describe('workOf', () => {
  it('is what passed', () => {
    expect([workOf(0.5, 0), workOf(15, 1_048_576)]).toEqual([0.5, 15])
  })

  it('is no more than a body of its length can take, however long the machine paused', () => {
    expect(workOf(5_000, 200)).toBeLessThan(1.1)
    expect(workOf(5_000, 16_000)).toBeLessThan(5)
    expect(workOf(5_000, 1_048_576)).toBe(20)
  })
})
