import { describe, expect, it } from 'vitest'
import { parseMachineStat, parseProcessStat, peakResidentMib, processorMs } from './process-usage.ts'

describe('parseProcessStat', () => {
  it('adds user and system time, whatever the process is called', () => {
    const rest = 'S 1 1 1 0 -1 4194560 1000 0 0 0 250 50 7 7 20 0 12 0 5000 1 1'
    expect(parseProcessStat(`42 (node) ${rest}`)).toBe(3_000)
    expect(parseProcessStat(`42 (a ) b (c) ${rest}`)).toBe(3_000)
  })
})

describe('parseMachineStat', () => {
  it('adds all but idle and waiting time', () => {
    expect(parseMachineStat('cpu  10 20 30 4000 500 6 7 8 9 10\ncpu0 1 2 3 4')).toBe(810)
  })
})

describe('this process', () => {
  it('has spent processor time and has memory resident', () => {
    expect(processorMs(process.pid)).toBeGreaterThan(0)
    expect(peakResidentMib(process.pid)).toBeGreaterThan(10)
  })
})
