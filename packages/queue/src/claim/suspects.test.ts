import { ObjectId } from 'mongodb'
import { expect, it } from 'vitest'
import { chooseSuspects, type Suspect } from './suspects.ts'

/** Suspects with these losses, in the order in which they are due. */
function suspectsOf(...losses: readonly number[]): readonly Suspect[] {
  return losses.map((lost) => ({ _id: new ObjectId(), provider: 'acme', lost }))
}

it('chooses those that lost once at most together, the fewest losses first, then the longest due', () => {
  const [one, none, other, many] = suspectsOf(1, 0, 1, 2)
  expect(chooseSuspects([one!, none!, other!, many!], 8)).toEqual([none, one, other])
})

it('chooses one alone from two losses on: the one with the fewest, then the longest due', () => {
  const [four, three, alsoThree] = suspectsOf(4, 3, 3)
  expect(chooseSuspects([four!, three!, alsoThree!], 8)).toEqual([three])
})

it('chooses one alone that would be dead after the next loss', () => {
  const [none, one, other] = suspectsOf(0, 1, 1)
  expect(chooseSuspects([one!, none!, other!], 2)).toEqual([none])
  expect(chooseSuspects([one!, other!], 2)).toEqual([one])
})
