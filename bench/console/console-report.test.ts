import { expect, it } from 'vitest'
import { consoleReport } from './console-report.ts'
import type { Visit } from './visit.ts'

const visit: Visit = {
  ...{ firstPaintMs: 300, firstRowsMs: 800, filterMs: { dead: 100 }, longTasks: [] },
  ...{ messages: 40, skipped: 0, longestGapMs: 260, heapMib: 20 },
}
const offered = { accepted: 20_000, perSecond: 1_999.6 }
const lineOf = (report: readonly string[], what: string): string =>
  report.find((line) => line.startsWith(what))?.replaceAll(/ {2,}/g, '  ') ?? ''

it('shows the median, the least and the most of each figure', () => {
  const report = consoleReport([
    { visit, offered },
    { visit: { ...visit, firstPaintMs: 500 }, offered },
    { visit: { ...visit, firstPaintMs: 310 }, offered },
  ])
  expect(lineOf(report, 'first paint')).toBe('first paint  at most 1,000 ms  310 ms (300 to 500)  reached')
  expect(lineOf(report, 'new events')).toBe('new events  2,000/s (2,000 to 2,000)')
})

it('misses a target if one round misses it', () => {
  const late = { ...visit, filterMs: { dead: 301 }, longTasks: [{ phase: 'following', ms: 201 }] } as const
  const report = consoleReport([
    { visit, offered },
    { visit, offered },
    { visit: late, offered },
  ])
  expect(lineOf(report, 'filter: dead')).toBe('filter: dead  at most 300 ms  100 ms (100 to 301)  MISSED')
  expect(lineOf(report, 'longest task, following')).toContain('MISSED')
  expect(lineOf(report, 'longest task, filtering')).toBe(
    'longest task, filtering  at most 200 ms  0 ms (0 to 0)  reached',
  )
})
