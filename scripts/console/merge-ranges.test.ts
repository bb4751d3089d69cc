import { expect, it } from 'vitest'
import { type CountedRange, mergeRanges } from './merge-ranges.ts'

const range = (startOffset: number, endOffset: number, count: number): CountedRange => ({
  ...{ startOffset, endOffset, count },
})

it.each([
  ['everything ran', [[range(0, 10, 1)]], [range(0, 10, 1)]],
  ['nothing ran', [], [range(0, 10, 1), range(0, 10, 0)]],
  ['an inner range did not run', [[range(2, 5, 0), range(0, 10, 3)]], [range(0, 10, 1), range(2, 5, 0)]],
  [
    'a range ran inside one that did not',
    [[range(0, 10, 1), range(2, 8, 0), range(4, 5, 2)]],
    [range(0, 10, 1), range(2, 4, 0), range(5, 8, 0)],
  ],
  [
    'each of two runs reached another part',
    [
      [range(0, 10, 1), range(2, 6, 0)],
      [range(0, 10, 1), range(4, 10, 0)],
    ],
    [range(0, 10, 1), range(4, 6, 0)],
  ],
])('%s', (_, runs, merged) => {
  expect(mergeRanges(10, runs)).toEqual(merged)
})
