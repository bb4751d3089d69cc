import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { drawRatios } from './picture.ts'
import { replaceFigures, reportFigures } from './report.ts'
import { atLeast, atMost, type Row, ratio } from './row.ts'
import type { PhaseResult } from './run-phase.ts'
import { summarize } from './summary.ts'
import type { Figures, Measurement, Trial } from './trial.ts'

const QUIET = { calibration: { processorMs: 100, diskMs: 50 }, foreignShare: 0 }

function trialOf(name: string): Trial {
  return { name, title: `The ${name} one`, run: () => Promise.reject(new Error('Not run here')) }
}

const naive = trialOf('naive')
const ours = trialOf('ours')
const rate = { figure: 'perSecond', of: ours, to: naive, ...atLeast('times', 3.5), limitedBy: 'one thread' } as const
const memory = { what: 'Memory', against: 'absolute', ...atMost('MiB', 200), limitedBy: 'the heap' }
const row: Row = {
  name: 'accept',
  trials: [naive, ours],
  goals: [
    ratio({ what: 'Accepts/s', against: 'naive', ...rate }),
    { ...memory, figure: (read) => read(ours, 'residentMib') },
  ],
}

function measured(trial: Trial, figures: Figures, more: Partial<Measurement> = {}): Measurement {
  return { ...QUIET, trial: trial.name, figures, lost: 0, failed: {}, ...more }
}

function round(naiveRate: number, ourRate: number, more?: Partial<Measurement>): Measurement[] {
  const own = measured(ours, { perSecond: ourRate, residentMib: ourRate / 20 }, more)
  return [measured(naive, { perSecond: naiveRate }), own]
}

function resultOf(rounds: Measurement[][], wanted = rounds.length): PhaseResult {
  return { phase: { rows: [row], trials: row.trials, rounds: wanted }, rounds, broken: [] }
}

const steady = [round(1_000, 4_000), round(100, 400), round(1_000, 4_200)]

describe('summarize', () => {
  it('computes ratios within a round, and their median', () => {
    const { goals, basis } = summarize([resultOf(steady)])
    expect(goals[0]).toMatchObject({ value: { median: 4, least: 4, most: 4.2 }, verdict: 'reached' })
    expect(basis).toEqual(['accept: 3 of 3 rounds were quiet and count'])
  })

  it('counts quiet rounds only, or all if too few were quiet, and says so', () => {
    const disturbed = round(1_000, 9_000, { foreignShare: 0.3 })
    expect(summarize([resultOf([...steady, disturbed], 3)]).goals[0]?.value?.most).toBe(4.2)
    const { goals, basis } = summarize([resultOf([...steady, disturbed])])
    expect(goals[0]?.value?.most).toBe(9)
    expect(basis[0]).toMatch(/only 3 of 4 rounds were quiet, so all count$/)
  })

  it('distinguishes a target that was reached from one that was missed', () => {
    const verdicts = (perSecond: number) =>
      summarize([resultOf([round(1_000, perSecond)])]).goals.map(({ verdict }) => verdict)
    expect(verdicts(6_000)).toEqual(['reached', 'missed'])
    expect(verdicts(3_500)).toEqual(['reached', 'reached'])
    expect(verdicts(3_000)).toEqual(['missed', 'reached'])
  })

  it('says that a goal was not measured if one of its trials was not run', () => {
    const { goals } = summarize([resultOf([[measured(ours, { perSecond: 1 })]])])
    expect(goals.map(({ verdict }) => verdict)).toEqual(['not measured', 'not measured'])
  })

  it('counts all losses, also in disturbed rounds', () => {
    const losing = [round(1_000, 4_000, { lost: 2 }), round(1_000, 4_000, { foreignShare: 0.9, lost: 4 })]
    expect(summarize([resultOf(losing)]).lost).toBe(6)
  })
})

describe('the report', () => {
  const summary = summarize([resultOf([round(1_000, 3_000, { lost: 3 })])])

  it('replaces the figures of docs/explanation/performance.md and nothing else, by tables with as many cells in every line', () => {
    const document = readFileSync(join(import.meta.dirname, '../docs/explanation/performance.md'), 'utf8')
    const machine = { processor: 'A', cores: 2, memoryGib: 24, system: 'Linux 6', versions: {}, commit: 'abc' }
    const figures = reportFigures(summary, new Date('2026-11-21T09:00:00Z'), machine)
    const published = replaceFigures(document, figures)
    expect(published).toContain('Measured on 2026-11-21: A, 2 cores, 24 GiB, Linux 6; ; commit abc.\n')
    expect(replaceFigures(published, '$1')).toBe(published.replace(figures, () => '$1'))
    const tables = figures.split('\n\n').filter((part) => part.startsWith('|'))
    const widths = tables.map((table) => new Set(table.split('\n').map((line) => line.split('|').length)).size)
    expect(widths).toEqual([1, 1])
  })

  it('draws each ratio that was measured as a bar that ends at its median', () => {
    const bars = [...drawRatios(summary).matchAll(/<rect x="(\d+)" [^>]*width="(\d+)" height="14"/g)]
    // The middle of the axis is 1, and its end 10.
    expect(bars.map(([, x, width]) => [Number(x), Number(width)])).toEqual([[645, Math.round(Math.log10(3) * 145)]])
  })
})
