import fc from 'fast-check'
import { ObjectId } from 'mongodb'
import { describe, expect, it } from 'vitest'
import type { SettledClaim } from '../inbox/claims.ts'
import { countFailedCall, type FailedCall, judgeFailedCall } from './blame.ts'

const well: FailedCall = { events: 1, reached: true, died: false, wasClosed: true, wasWell: true }

function putOff(failedCalls: number): SettledClaim {
  return {
    claim: {
      ...{ _id: new ObjectId(), provider: 'acme', fence: 1, lost: 0, failedCalls, internalErrors: 0, failures: 0 },
      ...{ failedForMs: 0, orderUnknownForMs: 0, requestId: 'r' },
      event: { id: 'e', type: 'payment.succeeded', objectId: 'p', facts: { orderId: 'o' } },
    },
    settlement: { state: 'pending', delayMs: 7 },
    attempt: { ms: 1, outcome: 'deferred', code: 'unavailable', message: 'Not now' },
  }
}

describe('judgeFailedCall', () => {
  it.each<[string, Partial<FailedCall>, string]>([
    ['one event fails while another has just gone through', {}, 'culprit'],
    [
      'one event is in hand when fulfilment dies, also where nothing else is tried',
      { died: true, wasWell: false },
      'culprit',
    ],
    ['one event of several may be it', { events: 9 }, 'suspects'],
    ['one event fails, and nobody knows how fulfilment is', { wasWell: false }, 'nobody'],
    ['a probe fails', { wasClosed: false }, 'nobody'],
    ['fulfilment cannot even tell a version', { reached: false, events: 9 }, 'nobody'],
  ])('%s', (_, members, verdict) => {
    expect(judgeFailedCall({ ...well, ...members })).toBe(verdict)
  })

  it('finds no culprit in an outage: where nothing was reached, or nothing went through', () => {
    const call = fc.record({
      events: fc.integer({ min: 1, max: 500 }),
      reached: fc.boolean(),
      died: fc.constant(false),
      wasClosed: fc.boolean(),
      wasWell: fc.constant(false),
    })
    fc.assert(fc.property(call, (one) => judgeFailedCall(one) !== 'culprit'))
  })
})

describe('countFailedCall', () => {
  it('counts, and puts off as long as before', () => {
    expect(countFailedCall(putOff(1), true, 3)).toMatchObject({
      claim: { failedCalls: 2 },
      settlement: { state: 'pending', delayMs: 7, failedCalls: 2 },
    })
  })

  it('ends a culprit whose budget is used up, with a reason', () => {
    expect(countFailedCall(putOff(2), true, 3)).toMatchObject({
      settlement: { state: 'dead', reason: 'fulfilment_failed' },
      attempt: { outcome: 'dead', code: 'fulfilment_failed' },
    })
  })

  it('never ends one that is only a suspect', () => {
    expect(countFailedCall(putOff(99), false, 3)).toMatchObject({ settlement: { state: 'pending', failedCalls: 100 } })
  })
})
