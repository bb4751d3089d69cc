import { describe, expect, it } from 'vitest'
import { quietRounds } from './quiet-rounds.ts'

const quiet = { calibration: { processorMs: 100, diskMs: 50 }, foreignShare: 0.01 }
const slowProcessor = { ...quiet, calibration: { processorMs: 150, diskMs: 50 } }
const slowDisk = { ...quiet, calibration: { processorMs: 100, diskMs: 500 } }
const shared = { ...quiet, foreignShare: 0.3 }

describe('quietRounds', () => {
  it('drops a round in which any measurement was disturbed', () => {
    const rounds = [
      [quiet, quiet],
      [quiet, slowProcessor],
      [shared, quiet],
      [quiet, slowDisk],
      [quiet, quiet],
    ]
    expect(quietRounds(rounds)).toEqual([true, false, false, false, true])
  })

  it('compares with the best of this machine, not with fixed times', () => {
    const slow = { ...quiet, calibration: { processorMs: 900, diskMs: 4_000 } }
    expect(quietRounds([[slow], [slow], [slow]])).toEqual([true, true, true])
  })
})
