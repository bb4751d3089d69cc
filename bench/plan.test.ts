import { describe, expect, it } from 'vitest'
import { PlanError, ROWS, readPlan } from './plan.ts'

const rowsOf = (...args: string[]): string[] =>
  readPlan(args).phases.flatMap(({ rows }) => rows.map(({ name }) => name))

describe('readPlan', () => {
  it('plans the main rows, all rows in full, and rows that are named', () => {
    expect(rowsOf()).toEqual(['accept', 'duplicates', 'settle', 'one-connection'])
    expect(rowsOf('--full')).toEqual(ROWS.map(({ name }) => name))
    expect(rowsOf('--rows', 'memory,duplicates')).toEqual(['duplicates', 'memory'])
  })

  it('runs a trial once per round, however many rows need it', () => {
    const names = readPlan(['--full']).phases.flatMap(({ trials }) => trials.map(({ name }) => name))
    expect(new Set(names).size).toBe(names.length)
  })

  it('uses rounds and seconds as given', () => {
    const { phases, effort } = readPlan(['--rounds', '2', '--seconds', '1.5'])
    expect(phases.every(({ rounds }) => rounds === 2)).toBe(true)
    expect(effort.measureMs).toBe(1_500)
  })

  it('refuses unknown arguments, lists the known ones, and publishes figures of all rows in full only', () => {
    expect(() => rowsOf('--rows', 'accept,speed')).toThrow(/There is no row speed; rows: accept, /)
    for (const args of [['--rounds', '0'], ['--rounds', '1.5'], ['--seconds', 'x'], ['--fast'], ['--publish']]) {
      expect(() => rowsOf(...args)).toThrow(PlanError)
    }
  })
})
