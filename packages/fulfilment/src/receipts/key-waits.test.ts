import { describe, expect, it } from 'vitest'
import type { ReceiptClaim, Settlement } from './claims/receipt-claim.ts'
import { KeyWaits } from './receipt-worker.ts'

const look = { room: 200, keyIds: ['new'] }

function settled(dueAt: Date | string, settlement: Settlement) {
  return { claim: { receipt: { dueAt } } as ReceiptClaim, settlement }
}

const STILL_WAITING = settled('new 2026-01-01T00:00:00.000Z', { state: 'waiting', keyId: 'new', attempts: 0 })

describe('KeyWaits', () => {
  it('looks at the start, and again after 30 s', () => {
    const waits = new KeyWaits()
    const looks = [0, 1, 29_999, 30_000, 30_001].map((now) => waits.mayLook(now, look))
    expect(looks).toEqual([true, false, false, true, false])
  })

  it('looks as soon as the keys have changed', () => {
    const waits = new KeyWaits()
    expect(waits.mayLook(0, look)).toBe(true)
    expect(waits.mayLook(1, { ...look, keyIds: ['new', 'old'] })).toBe(true)
    expect(waits.mayLook(2, { ...look, keyIds: ['new', 'old'] })).toBe(false)
  })

  it('looks without a pause while some can be read, whatever becomes of them', () => {
    const waits = new KeyWaits()
    for (const settlement of [{ state: 'sent' }, { state: 'owed', code: 'down', waitMs: 1 }] as const) {
      waits.mayLook(0, look)
      waits.observe([STILL_WAITING, settled('new 2026-01-01T00:00:00.000Z', settlement)])
      expect(waits.mayLook(1, look)).toBe(true)
    }
  })

  it('pauses where none can be read, and whatever becomes of the others', () => {
    const waits = new KeyWaits()
    waits.mayLook(0, look)
    waits.observe([STILL_WAITING, settled(new Date(0), { state: 'sent' })])
    expect(waits.mayLook(1, look)).toBe(false)
  })

  it('does not look without room or without keys, and no such question counts as a look', () => {
    const waits = new KeyWaits()
    expect(waits.mayLook(0, { ...look, room: 0 })).toBe(false)
    expect(waits.mayLook(0, { ...look, keyIds: [] })).toBe(false)
    expect(waits.mayLook(0, look)).toBe(true)
  })
})
