import { ObjectId } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { type Refusal, RefusalBuffer } from './refusals.ts'

const record: Refusal = {
  ...{ id: new ObjectId(), at: new Date(0), provider: 'acme', reason: 'bad_request', why: null, status: 400 },
  ...{ message: '', network: null, bytes: null, secretIds: [], causes: [], requestId: 'r', headers: [] },
  signatureHeaders: [],
}

/** Offers refusals of one kind, and returns how many are kept, which are as many as are described. */
function offer(buffer: RefusalBuffer, times: number, { now = 0, provider = 'acme', reason = 'bad_request' } = {}) {
  let described = 0
  const kept = Array.from({ length: times }, () =>
    buffer.add({ provider, reason, why: null }, now, () => {
      described += 1
      return record
    }),
  ).filter(Boolean).length
  expect(described).toBe(kept)
  return kept
}

describe('the buffer of refusals', () => {
  it('keeps a few at once, then one every two seconds, and counts the others', () => {
    const buffer = new RefusalBuffer()
    expect(offer(buffer, 1_000)).toBe(20)
    const { updates, records } = buffer.take(new Date(0))
    expect(records).toBe(20)
    expect(updates.at(-1)).toMatchObject({ u: { $inc: { count: 980 } } })
    expect(offer(buffer, 1_000, { now: 1_999 })).toBe(0)
    expect(offer(buffer, 1_000, { now: 2_000 })).toBe(1)
    expect(buffer.take(new Date(2_000))).toMatchObject({ updates: { length: 2 }, records: 1 })
    expect(buffer.take(new Date(2_000))).toEqual({ updates: [], records: 0 })
  })

  it('has room for another kind and another provider during a flood', () => {
    const buffer = new RefusalBuffer()
    offer(buffer, 1_000)
    expect(offer(buffer, 1, { reason: 'invalid_body' })).toBe(1)
    expect(offer(buffer, 1, { provider: 'shop' })).toBe(1)
  })

  it('holds 2,000 when the database is slow', () => {
    const buffer = new RefusalBuffer()
    for (let provider = 0; provider < 1_000; provider += 1) offer(buffer, 20, { provider: `p${provider}` })
    expect(buffer.take(new Date(0)).records).toBe(2_000)
  })

  it('survives a clock that is set back', () => {
    const buffer = new RefusalBuffer()
    expect(offer(buffer, 10, { now: 1_000_000 })).toBe(10)
    expect(offer(buffer, 20, { now: 0 })).toBe(10)
    expect(offer(buffer, 10, { now: 4_000 })).toBe(2)
  })
})
