import { describe, expect, it } from 'vitest'
import { PHASES } from './phases.ts'
import { effortNotes, PlanError, readPlan } from './plan.ts'

function rowsOf(...args: string[]): string[] {
  return readPlan(args, PHASES).phases.flatMap(({ rows }) => rows.map(({ name }) => name))
}

function trialsOf(...args: string[]): string[] {
  return readPlan(args, PHASES).phases.flatMap(({ trials }) => trials.map(({ name }) => name))
}

describe('readPlan', () => {
  it('plans the main rows in less than six minutes, and all rows in less than twenty-five', () => {
    const minutesOf = (...args: string[]) =>
      readPlan(args, PHASES).phases.reduce((sum, { budgetMs }) => sum + budgetMs, 0) / 60_000
    expect(rowsOf()).toEqual(expect.arrayContaining(['accept', 'duplicates', 'settle']))
    expect(minutesOf()).toBeLessThan(6)
    expect(rowsOf('--full')).toEqual(PHASES.flatMap(({ rows }) => rows.map(({ name }) => name)))
    expect(minutesOf('--full')).toBeLessThan(25)
  })

  it('runs the rows that are named, also those that the short form leaves out', () => {
    expect(rowsOf('--rows', 'memory,duplicates')).toEqual(['duplicates', 'memory'])
  })

  it('runs a trial once per round, however many rows need it', () => {
    const names = trialsOf('--full')
    expect(new Set(names).size).toBe(names.length)
    expect(trialsOf('--rows', 'duplicates')).toContain('accepting')
  })

  it('uses rounds, seconds and minutes as given', () => {
    const { phases, effort } = readPlan(['--rounds', '2', '--seconds', '1.5', '--minutes', '1'], PHASES)
    expect(phases.every(({ rounds }) => rounds === 2)).toBe(true)
    expect(effort.measureMs).toBe(1_500)
    expect(phases.reduce((sum, { budgetMs }) => sum + budgetMs, 0)).toBeCloseTo(60_000)
  })

  it('refuses unknown arguments and lists the known ones', () => {
    expect(() => rowsOf('--rows', 'accept,speed')).toThrow(/There is no row speed; rows: accept, /)
    for (const args of [['--rounds', '0'], ['--rounds', '1.5'], ['--seconds', 'x'], ['--fast'], ['--rows']]) {
      expect(() => rowsOf(...args)).toThrow(PlanError)
    }
  })

  it('publishes figures of the full form only', () => {
    expect(readPlan(['--full', '--publish'], PHASES).publishes).toBe(true)
    expect(() => rowsOf('--publish')).toThrow(/Only figures of the full form/)
  })

  it('gives every trial and every row a unique name', () => {
    const rows = PHASES.flatMap((phase) => phase.rows)
    expect(new Set(rows.map(({ name }) => name)).size).toBe(rows.length)
    const trials = new Set(rows.flatMap((row) => [...row.trials, ...(row.more ?? [])]))
    expect(new Set([...trials].map(({ name }) => name)).size).toBe(trials.size)
  })
})

describe('effortNotes', () => {
  it('says what the short form leaves out, and nothing about the full one', () => {
    expect(effortNotes(readPlan([], PHASES))).toEqual([
      'short form: 5,000 events wait, 50,000 records stored against 2,000, memory after 50,000 accepts',
    ])
    expect(effortNotes(readPlan(['--full'], PHASES))).toEqual([])
  })
})
