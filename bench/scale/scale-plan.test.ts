import { describe, expect, it } from 'vitest'
import { PlanError } from '../plan.ts'
import { readScalePlan } from './scale-plan.ts'

const DEFAULTS = {
  ...{ parts: ['claims', 'idle', 'whole', 'in-flight'], events: 20_000, processes: [1, 2, 4, 8], seconds: 20 },
  ...{ rates: [100, 400], inFlight: 100_000, simulate: false, save: false },
}

describe('the plan of bench:scale', () => {
  it('has defaults', () => {
    expect(readScalePlan([])).toEqual(DEFAULTS)
  })

  it('takes other numbers', () => {
    const args = ['--events', '1000000', '--processes', '1,16', '--seconds', '60', '--in-flight', '1000000']
    const numbers = { events: 1_000_000, processes: [1, 16], seconds: 60, inFlight: 1_000_000 }
    expect(readScalePlan([...args, '--rates', '300'])).toEqual({ ...DEFAULTS, ...numbers, rates: [300] })
  })

  it('takes parts, the order to simulate and the order to save', () => {
    const args = ['--parts', 'whole,idle', '--simulate', '--save']
    expect(readScalePlan(args)).toEqual({ ...DEFAULTS, parts: ['whole', 'idle'], simulate: true, save: true })
  })

  it.each([
    ['--events', '10'],
    ['--processes', '0'],
    ['--processes', '1,,2'],
    ['--seconds', 'x'],
    ['--rates', '-1'],
    ['--in-flight', '1'],
    ['--parts', 'whole,half'],
    ['--rows', 'claims'],
  ])('refuses %s %s', (...args) => {
    expect(() => readScalePlan(args)).toThrow(PlanError)
  })
})
