import { describe, expect, it } from 'vitest'
import { reportLines, reportMarkdown } from './report/report.ts'
import { type Row, ratio } from './row.ts'
import type { PhaseResult } from './run-phase.ts'
import { summarize } from './summarize.ts'
import type { Figures, Measurement, Trial } from './trial.ts'

const QUIET = { calibration: { processorMs: 100, diskMs: 50 }, foreignShare: 0 }

function trialOf(name: string): Trial {
  return { name, title: `The ${name} one`, run: () => Promise.reject(new Error('Not run here')) }
}

const naive = trialOf('naive')
const ours = trialOf('ours')
const row: Row = {
  name: 'accept',
  trials: [naive, ours],
  goals: [
    ratio({
      what: 'Accepts/s',
      against: 'naive',
      figure: 'perSecond',
      of: ours,
      to: naive,
      unit: 'times',
      direction: 'at least',
      target: 3.5,
      aim: 6,
    }),
    {
      what: 'Memory',
      against: 'absolute',
      figure: (read) => read(ours, 'residentMib'),
      unit: 'MiB',
      direction: 'at most',
      target: 200,
      aim: 150,
    },
  ],
}

function measured(trial: Trial, figures: Figures, more: Partial<Measurement> = {}): Measurement {
  return { ...QUIET, trial: trial.name, figures, lost: 0, failed: {}, ...more }
}

function round(naiveRate: number, ourRate: number, more?: Partial<Measurement>): Measurement[] {
  return [
    measured(naive, { perSecond: naiveRate }),
    measured(ours, { perSecond: ourRate, residentMib: ourRate / 20 }, more),
  ]
}

function resultOf(rounds: Measurement[][], repeated: Measurement[] = []): PhaseResult {
  return { phase: { rows: [row], trials: row.trials, rounds: 3, budgetMs: 1 }, rounds, repeated, broken: [] }
}

const steady = [round(1_000, 4_000), round(100, 400), round(1_000, 4_200)]

describe('summarize', () => {
  it('computes ratios within a round, and their median', () => {
    const { goals, basis } = summarize([resultOf(steady)])
    expect(goals[0]).toMatchObject({ value: { median: 4, least: 4, most: 4.2 }, verdict: 'reached' })
    expect(basis).toEqual(['accept: 3 of 3 rounds were quiet and count'])
  })

  it('counts quiet rounds only', () => {
    const disturbed = round(1_000, 9_000, { foreignShare: 0.3 })
    const { goals } = summarize([resultOf([...steady, disturbed])])
    expect(goals[0]?.value?.most).toBe(4.2)
  })

  it('counts all rounds and says so when too few were quiet', () => {
    const { goals, basis } = summarize([resultOf([round(1_000, 9_000, { foreignShare: 0.3 }), ...steady.slice(1)])])
    expect(goals[0]?.value?.most).toBe(9)
    expect(basis[0]).toMatch(/only 2 of 3 rounds were quiet, so all count$/)
  })

  it('accepts fewer rounds than requested if there was no time for more and all were quiet', () => {
    expect(summarize([resultOf(steady.slice(0, 2))]).basis).toEqual(['accept: 2 of 2 rounds were quiet and count'])
  })

  it('distinguishes an aim that was reached, a target that was reached, and a target that was missed', () => {
    const verdicts = (rate: number) => summarize([resultOf([round(1_000, rate)])]).goals.map(({ verdict }) => verdict)
    expect(verdicts(6_000)).toEqual(['aim', 'missed'])
    expect(verdicts(3_500)).toEqual(['reached', 'reached'])
    expect(verdicts(3_000)).toEqual(['missed', 'aim'])
  })

  it('says that a goal was not measured if one of its trials was not run', () => {
    const { goals } = summarize([resultOf([[measured(ours, { perSecond: 1 })]])])
    expect(goals.map(({ verdict }) => verdict)).toEqual(['not measured', 'not measured'])
  })

  it('counts all losses, also in disturbed rounds', () => {
    const losing = [round(1_000, 4_000, { lost: 2 }), round(1_000, 4_000, { foreignShare: 0.9, lost: 4 })]
    expect(summarize([resultOf(losing, [measured(ours, {}, { lost: 1 })])]).lost).toBe(7)
  })

  it('computes the median of a curve at each rate, in the order of the rates', () => {
    const at = (perSecond: number, p99Ms: number) => ({ perSecond, p50Ms: 1, p99Ms, failed: 0 })
    const curves = [[at(500, 2), at(1_000, 9)], [at(500, 4)], [at(500, 3), at(1_000, 5), at(250, 1)]]
    const rounds = curves.map((curve) => [measured(naive, {}), measured(ours, {}, { curve })])
    expect(summarize([resultOf(rounds)]).trials[1]?.curve).toEqual([at(250, 1), at(500, 3), at(1_000, 7)])
  })
})

const machine = {
  processor: 'A processor',
  cores: 2,
  memoryGib: 24,
  system: 'Linux 6',
  versions: { node: '24.0.0' },
  commit: 'abc',
}

describe('the report', () => {
  const summary = summarize([resultOf([round(1_000, 3_000, { lost: 3 })])])

  it('shows target, aim, spread and verdict of every goal, and what was lost', () => {
    const lines = reportLines(summary).map((line) => line.split(/ {2,}/))
    expect(lines).toContainEqual(['Accepts/s', 'naive', 'at least 3.5', 'at least 6', '3.00 (3.00 to 3.00)', 'MISSED'])
    expect(lines).toContainEqual([
      'Memory',
      'absolute',
      'at most 200 MiB',
      'at most 150 MiB',
      '150 MiB (150 to 150)',
      'aim reached',
    ])
    expect(lines).toContainEqual(['Acknowledged and not found stored', '0', '0', '3', 'BROKEN'])
  })

  it('names trials that were not brought to an end', () => {
    const { broken, ...rest } = resultOf([round(1_000, 3_000)])
    const failed = summarize([{ ...rest, broken: [...broken, 'Round 1: The other one: It ended with 1'] }])
    expect(reportLines(failed).at(-1)).toBe('not brought to an end: Round 1: The other one: It ended with 1')
  })

  it('is Markdown whose tables have as many cells in every line', () => {
    const markdown = reportMarkdown(summary, { machine, at: new Date('2026-11-21T09:00:00Z') })
    expect(markdown).toContain(
      '# Benchmark of 2026-11-21\n\nMeasured on 2026-11-21: A processor, 2 cores, 24 GiB, Linux 6; node 24.0.0; commit abc.\n',
    )
    const widths = markdown.split('\n\n').filter((part) => part.startsWith('|'))
    expect(widths).toHaveLength(2)
    for (const table of widths) {
      const cells = table.split('\n').map((line) => line.split('|').length)
      expect(new Set(cells).size).toBe(1)
    }
  })
})
