import { describe, expect, it } from 'vitest'
import type { ReceiptClaim, Settlement } from './claims/receipt-claim.ts'
import { SinkHealth } from './sink-health.ts'

const ROOM = 200

function settled(state: 'sent' | 'owed', members: { attempts?: number; code?: string } = {}) {
  const { attempts = 0, code = 'ECONNREFUSED' } = members
  const settlement: Settlement = state === 'sent' ? { state } : { state, code, waitMs: 1 }
  return { claim: { receipt: { attempts } } as ReceiptClaim, settlement }
}

const newHealth = () => new SinkHealth({ random: () => 0.5, ownCodes: ['EENVELOPE'] })

describe('SinkHealth', () => {
  it('allows one probe at the start, and the next some time later', () => {
    const health = newHealth()
    expect(health.deferredAllowed(0, ROOM)).toBe(1)
    expect(health.deferredAllowed(400, ROOM)).toBe(0)
    expect(health.deferredAllowed(5_000, ROOM)).toBe(1)
  })

  it('probes ever less often, but every ten seconds, while there are no deferred receipts', () => {
    const health = newHealth()
    const probes: number[] = []
    for (let now = 0; now < 60_000; now += 100) {
      if (health.deferredAllowed(now, ROOM) === 0) continue
      probes.push(now)
      health.foundNone(now)
    }
    expect(probes).toEqual([0, 1_000, 3_000, 7_000, 15_000, 25_000, 35_000, 45_000, 55_000])
  })

  it('probes a failing sink every five seconds even if the deferred receipts must rest', () => {
    const health = newHealth()
    health.observe(0, [settled('owed')])
    expect(health.deferredAllowed(0, ROOM)).toBe(1)
    for (let now = 5_000; now < 60_000; now += 5_000) {
      health.foundNone(now - 1)
      expect(health.deferredAllowed(now, ROOM)).toBe(1)
    }
  })

  it('probes a failing sink at least every five seconds, however long it fails', () => {
    const health = newHealth()
    for (let failure = 0; failure < 50; failure += 1) health.observe(0, [settled('owed')])
    expect(health.deferredAllowed(0, ROOM)).toBe(1)
    expect(health.deferredAllowed(2_400, ROOM)).toBe(0)
    expect(health.deferredAllowed(5_000, ROOM)).toBe(1)
  })

  it('allows as many as there is room for, for a minute, once a receipt got through', () => {
    const health = newHealth()
    health.observe(0, [settled('owed'), settled('sent')])
    expect(health.deferredAllowed(1, ROOM)).toBe(ROOM)
    expect(health.deferredAllowed(59_000, 7)).toBe(7)
    expect(health.deferredAllowed(61_000, ROOM)).toBe(0)
  })

  it('treats the success of a deferred receipt as the end of an outage that it has not seen', () => {
    const health = newHealth()
    health.observe(0, [settled('sent')])
    health.observe(100_000, [settled('sent')])
    expect(health.deferredAllowed(100_001, ROOM)).toBe(0)
    health.observe(200_000, [settled('sent', { attempts: 3 })])
    expect(health.deferredAllowed(200_001, ROOM)).toBe(ROOM)
  })

  it('stops when the sink fails again', () => {
    const health = newHealth()
    health.observe(0, [settled('sent')])
    health.observe(1, [settled('owed')])
    expect(health.deferredAllowed(2, ROOM)).toBe(1)
    expect(health.deferredAllowed(3, ROOM)).toBe(0)
  })

  it('does not take an error that concerns one receipt for a failure of the sink', () => {
    const health = newHealth()
    health.observe(0, [settled('sent')])
    health.observe(1, [settled('owed', { code: 'EENVELOPE' })])
    expect(health.deferredAllowed(2, ROOM)).toBe(ROOM)
  })

  it('allows nothing if there is no room', () => {
    expect(newHealth().deferredAllowed(0, 0)).toBe(0)
  })
})
