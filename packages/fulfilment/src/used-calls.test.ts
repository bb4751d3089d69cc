import { expect, it } from 'vitest'
import { createAcceptedCalls } from './used-calls.ts'

it('a call is accepted once while its token lives, and is forgotten afterwards', () => {
  let now = 0
  const accept = createAcceptedCalls(() => now)
  const isAccepted = (callId: string): boolean => {
    try {
      accept(callId)
      return true
    } catch {
      return false
    }
  }
  const at = (seconds: number, ...callIds: string[]) => {
    now = seconds * 1_000
    return callIds.map(isAccepted)
  }
  expect(at(0, 'a', 'b', 'a')).toEqual([true, true, false])
  expect(at(119, 'c', 'a')).toEqual([true, false])
  expect(at(209, 'a', 'c', 'd')).toEqual([false, false, true])
  expect(at(330, 'a')).toEqual([true])
})
