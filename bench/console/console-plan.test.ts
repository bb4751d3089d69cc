import { expect, it } from 'vitest'
import { PlanError } from '../plan.ts'
import { readConsolePlan } from './console-plan.ts'

it('measures with a million events and 2,000 a second by default', () => {
  expect(readConsolePlan([])).toEqual({ events: 1_000_000, perSecond: 2_000, rounds: 5 })
  expect(readConsolePlan(['--events', '20000', '--rate', '0', '--rounds', '1'])).toEqual({
    ...{ events: 20_000, perSecond: 0, rounds: 1 },
  })
})

it('refuses what it cannot do, and says what it can', () => {
  for (const args of [['--events', '5'], ['--rate', '-1'], ['--rate', 'fast'], ['--rounds', ''], ['--full'], ['now']]) {
    expect(() => readConsolePlan(args)).toThrow(PlanError)
  }
  expect(() => readConsolePlan(['--rounds', '1.5'])).toThrow('1.5 is no whole number from 1 to 50')
})
