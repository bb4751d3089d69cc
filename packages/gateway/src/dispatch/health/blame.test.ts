import fc from 'fast-check'
import { ObjectId } from 'mongodb'
import { describe, expect, it } from 'vitest'
import type { SettledClaim } from '../../inbox/claims/claim.ts'
import { checkFailedCall, countFailedCall, type FailedCall, takeBackFailedCalls } from './blame.ts'

const well: FailedCall = { events: 1, reached: true, died: false, wasClosed: true, wasWell: true, isOutage: false }

function putOff(failedCalls: number): SettledClaim {
  return {
    claim: {
      ...{
        _id: new ObjectId(),
        provider: 'acme',
        handler: 'fulfilment',
        fence: 1,
        lost: 0,
        failedCalls,
        internalErrors: 0,
        failures: 0,
      },
      ...{ failedForMs: 0, orderUnknownForMs: 0, requestId: 'r' },
      event: { id: 'e', type: 'payment.succeeded', objectId: 'p', facts: { orderId: 'o' } },
    },
    settlement: { state: 'pending', delayMs: 7 },
    attempt: { ms: 1, outcome: 'deferred', code: 'unavailable', message: 'Not now' },
  }
}

describe('checkFailedCall', () => {
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
    ['it dies at one event after the other', { died: true, isOutage: true }, 'nobody'],
    ['it dies at several in an outage', { died: true, isOutage: true, events: 9 }, 'nobody'],
    ['fulfilment cannot even tell a version', { reached: false, events: 9 }, 'nobody'],
  ])('%s', (_, members, verdict) => {
    expect(checkFailedCall({ ...well, ...members })).toBe(verdict)
  })

  it('finds no culprit if it died at two events in a row, or if no call reached it or succeeded', () => {
    const call = fc.record({
      events: fc.integer({ min: 1, max: 500 }),
      reached: fc.boolean(),
      died: fc.boolean(),
      wasClosed: fc.boolean(),
      wasWell: fc.boolean(),
      isOutage: fc.boolean(),
    })
    const isAway = (one: FailedCall) => one.isOutage || !one.reached || !(one.died || one.wasWell)
    fc.assert(fc.property(call, (one) => !isAway(one) || checkFailedCall(one) === 'nobody'))
  })
})

describe('countFailedCall', () => {
  const culprit = { isCulprit: true, maxCrashes: 3, unconfirmed: 0 }

  it('does not end one by failures that others may have caused', () => {
    expect(countFailedCall(putOff(2), { ...culprit, unconfirmed: 1 })).toMatchObject({
      settlement: { state: 'pending', failedCalls: 3 },
    })
  })

  it('counts, and defers as long as before', () => {
    expect(countFailedCall(putOff(1), culprit)).toMatchObject({
      claim: { failedCalls: 2 },
      settlement: { state: 'pending', delayMs: 7, failedCalls: 2 },
    })
  })

  it('makes a culprit dead, with a reason, when its budget is used up', () => {
    expect(countFailedCall(putOff(2), culprit)).toMatchObject({
      settlement: { state: 'dead', reason: 'fulfilment_failed' },
      attempt: { outcome: 'dead', code: 'fulfilment_failed' },
    })
  })

  it('never ends one that is only a suspect', () => {
    expect(countFailedCall(putOff(99), { ...culprit, isCulprit: false })).toMatchObject({
      settlement: { state: 'pending', failedCalls: 100 },
    })
  })
})

describe('takeBackFailedCalls', () => {
  it('keeps the counts from before the outage', () => {
    expect(takeBackFailedCalls(putOff(5), 2)).toMatchObject({
      claim: { failedCalls: 3 },
      settlement: { state: 'pending', delayMs: 7, failedCalls: 3 },
    })
  })

  it('never counts below zero', () => {
    expect(takeBackFailedCalls(putOff(1), 2)).toMatchObject({ settlement: { failedCalls: 0 } })
  })
})
