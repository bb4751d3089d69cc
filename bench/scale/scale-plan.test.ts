import { describe, expect, it } from 'vitest'
import { PlanError } from '../plan.ts'
import { readScalePlan } from './scale-plan.ts'

describe('the plan of bench:scale', () => {
  it('has defaults', () => {
    expect(readScalePlan([])).toEqual({ events: 20_000, processes: [1, 2, 4, 8], seconds: 20 })
  })

  it('takes other numbers', () => {
    const args = ['--events', '1000000', '--processes', '1,16', '--seconds', '60']
    expect(readScalePlan(args)).toEqual({ events: 1_000_000, processes: [1, 16], seconds: 60 })
  })

  it.each([
    ['--events', '10'],
    ['--processes', '0'],
    ['--processes', '1,,2'],
    ['--seconds', 'x'],
    ['--rows', 'claims'],
  ])('refuses %s %s', (...args) => {
    expect(() => readScalePlan(args)).toThrow(PlanError)
  })
})
