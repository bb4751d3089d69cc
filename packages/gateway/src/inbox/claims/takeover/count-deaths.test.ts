import { ObjectId } from 'mongodb'
import { expect, it } from 'vitest'
import { checkCandidate } from './count-deaths.ts'

const LOST_AT = new Date(1_000)
const candidate = { _id: new ObjectId(), fence: 9, lost: 7, losses: [{ owner: 'a', at: LOST_AT }] }

it('counts no loss of an owner that was alive after it', () => {
  expect(checkCandidate(candidate, new Map(), 8)).toBe('dead')
  expect(checkCandidate(candidate, new Map([['a', LOST_AT]]), 8)).toBe('dead')
  expect(checkCandidate(candidate, new Map([['a', new Date(1_001)]]), 8)).toEqual({ deaths: 6 })
})

it('decides by the count alone if something else has changed the losses', () => {
  for (const losses of [null, 'none', 3]) {
    expect(checkCandidate(Object.assign({ ...candidate }, { losses }), new Map(), 8)).toBe('dead')
  }
})
