import { expect, it } from 'vitest'
import { sampleClaim } from '../testing/sample-claim.ts'
import { HANDLERS } from './handlers.ts'

it.each([...HANDLERS])('a test event never becomes a command of %s', (_, handler) => {
  const claim = sampleClaim('a')
  expect(handler(claim)).toHaveProperty('command')
  expect(handler({ ...claim, test: true })).toEqual({ refused: 'test_event' })
})
