import { describe, expect, it } from 'vitest'
import { conclude } from './conclude.ts'
import type { Measurement } from './measure-row.ts'
import { conclusionLines } from './report-lines.ts'
import type { RowName } from './rows.ts'

const QUIET = { calibration: { processorMs: 100, diskMs: 50 }, foreignShare: 0 }

function measured(row: RowName, acceptsPerSecond: number, more: Partial<Measurement> = {}): Measurement {
  return {
    ...QUIET,
    row,
    acceptsPerSecond,
    kept: acceptsPerSecond,
    lost: 0,
    failed: {},
    latency: { p50: 1, p90: 2, p99: 3, p999: 4, max: 5 },
    processorUs: { receiver: 100, fulfilment: null, mongod: row === 'naive' ? 300 : 30, sender: 20 },
    residentMib: 150,
    ...more,
  }
}

function round(naive: number, accepting: number, more?: Partial<Measurement>): Measurement[] {
  return [measured('naive', naive), measured('accepting', accepting, more), measured('paying', naive)]
}

const rounds = [round(1_000, 3_000), round(1_000, 9_000), round(1_000, 3_000), round(1_000, 3_200)]

describe('conclude', () => {
  it('counts quiet rounds only', () => {
    const { rows, basis } = conclude({ rounds, quiet: [true, false, true, true], repeated: [] }, 3)
    expect(rows[1]?.against.acceptsPerSecond).toEqual({ median: 3, least: 3, most: 3.2 })
    expect(basis).toBe('3 of 4 rounds were quiet and count')
  })

  it('counts all rounds and says so when too few were quiet', () => {
    const { rows, basis } = conclude({ rounds, quiet: [true, false, false, false], repeated: [] }, 3)
    expect(rows[1]?.against.acceptsPerSecond.most).toBe(9)
    expect(basis).toMatch(/only 1 of 4 rounds were quiet, so all count$/)
  })

  it('says which goals were reached and which were missed', () => {
    const heavy = [round(1_000, 2_000, { residentMib: 300 })]
    const lines = conclusionLines(conclude({ rounds: heavy, quiet: [true], repeated: [] }, 1))
    expect(lines.filter((line) => /^(reached|missed)/.test(line))).toEqual([
      'missed   Accepts a second, accepting alone, at least 2.5 times naive: 2.00 times',
      "reached  Processor time of mongod for each accept at most 0.15 of naive's: 0.100",
      'missed   Resident memory of the gateway under 220 MiB: 300 MiB',
      'reached  Events acknowledged and not found afterwards: 0',
    ])
  })

  it('counts what was lost wherever it was lost', () => {
    const losing = [...rounds.slice(0, 3), round(1_000, 3_000, { lost: 2 })]
    const repeated = [measured('paying', 1_000, { lost: 1 })]
    const conclusion = conclude({ rounds: losing, quiet: [true, true, true, false], repeated }, 3)
    expect(conclusion.lost).toBe(3)
    expect(conclusionLines(conclusion).at(-1)).toBe('BROKEN   Events acknowledged and not found afterwards: 3')
  })
})
