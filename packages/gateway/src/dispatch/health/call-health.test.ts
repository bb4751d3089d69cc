import { unavailable } from '@oncehook/kernel/http/error-codes'
import { ObjectId } from 'mongodb'
import { describe, expect, it } from 'vitest'
import type { SettledClaim } from '../../inbox/claims/claim.ts'
import type { CallFailure } from '../process-batch.ts'
import { CallHealth } from './call-health.ts'

function createHealth(): CallHealth {
  return new CallHealth({ clock: { now: () => 1_000 }, random: () => 0.5, maxCrashes: 3 })
}

const putOff: SettledClaim = {
  claim: {
    ...{
      _id: new ObjectId(),
      provider: 'acme',
      handler: 'fulfilment',
      fence: 1,
      lost: 0,
      failedCalls: 1,
      internalErrors: 0,
      failures: 0,
    },
    ...{ failedForMs: 0, orderUnknownForMs: 0, requestId: 'r' },
    event: { id: 'e', type: 'a.b', objectId: 'p', facts: { orderId: '' } },
  },
  settlement: { state: 'pending', delayMs: 7, failedCalls: 1 },
  attempt: { ms: 1, outcome: 'deferred', code: 'handler_busy', message: 'Not now' },
}
const busy: CallFailure = { error: unavailable({}), reached: false, died: false, isBusy: true, putOff: [putOff] }

describe('a call for which a handler was too busy', () => {
  it('is no outage after a success, but the second one without a success in between is', () => {
    const health = createHealth()
    health.succeeded()
    expect(health.failed(busy, health.before).isWellOtherwise).toBe(true)
    expect(health.failed(busy, health.before).isWellOtherwise).toBe(false)
    health.succeeded()
    expect(health.failed(busy, health.before).isWellOtherwise).toBe(true)
  })

  it('is an outage if no call has succeeded', () => {
    const health = createHealth()
    expect(health.failed(busy, health.before).isWellOtherwise).toBe(false)
  })

  it('does not count against its event', () => {
    const health = createHealth()
    health.succeeded()
    expect(health.failed(busy, health.before).counted).toEqual([putOff])
  })
})
