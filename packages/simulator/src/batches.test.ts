import { describe, expect, it } from 'vitest'
import { toBatches } from './schedule.ts'

describe('toBatches', () => {
  it.each([
    [[], 2, []],
    [['a', 'b'], 2, [['a', 'b']]],
    [['a', 'b', 'c'], 2, [['a', 'b'], ['c']]],
    [['a', 'b', 'c'], 5, [['a', 'b', 'c']]],
  ])('makes of %j by %i %j', (list, size, batches) => {
    expect(toBatches<string>(list, size)).toEqual(batches)
  })
})
