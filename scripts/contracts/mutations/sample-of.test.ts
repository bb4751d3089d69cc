import { expect, it } from 'vitest'
import { sampleOf } from './sample-of.ts'

const LIST = Array.from({ length: 23 }, (_, index) => index)

it('goes through the whole list, a part at each turn', () => {
  const turns = [7, 8, 9].map((turn) => sampleOf(LIST, { count: 10, turn }))
  expect(turns.flat().toSorted((a, b) => a - b)).toEqual(LIST)
  for (const turn of turns) expect(turn.length).toBeLessThanOrEqual(10)
})

it('chooses all of a list that is short enough', () => {
  expect(sampleOf(LIST, { count: 23, turn: 5 })).toEqual(LIST)
})
