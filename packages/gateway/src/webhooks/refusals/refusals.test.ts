import { ObjectId } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { type Refusal, RefusalBuffer } from './refusals.ts'

const record: Refusal = {
  ...{ id: new ObjectId(), at: new Date(0), provider: 'acme', reason: 'signature_invalid', why: null, status: 401 },
  ...{ message: '', network: null, bytes: null, secretIds: [], causes: [], requestId: 'r', headers: [] },
  signatureHeaders: [],
}

/** Offers refusals of one kind, and returns how many are kept. */
function offer(buffer: RefusalBuffer, times: number, { now = 0, provider = 'acme', network = 'a', ring = 'x' } = {}) {
  let kept = 0
  for (let time = 0; time < times; time += 1) {
    if (buffer.add({ provider, ring }, { network, now }, () => record)) kept += 1
  }
  return kept
}

describe('the buffer of refusals', () => {
  it('keeps a few at once, then one every two seconds, and counts the others', () => {
    const buffer = new RefusalBuffer()
    expect(offer(buffer, 1_000)).toBe(15)
    expect(buffer.take(0)).toMatchObject([{ provider: 'acme', ring: 'x', notKept: 985, kept: { length: 15 } }])
    expect(offer(buffer, 1_000, { now: 1_999 })).toBe(0)
    expect(offer(buffer, 1_000, { now: 2_000 })).toBe(1)
    expect(offer(buffer, 1_000, { now: 3_600_000 })).toBe(15)
    expect(buffer.take(3_600_000)).toMatchObject([{ notKept: 2_984, kept: { length: 16 } }])
    expect(buffer.take(3_600_000)).toEqual([])
  })

  it('has room for another network, another kind and another provider during a flood', () => {
    const buffer = new RefusalBuffer()
    offer(buffer, 1_000)
    expect(offer(buffer, 1, { network: 'b' })).toBe(1)
    expect(offer(buffer, 1, { ring: 'y' })).toBe(1)
    expect(offer(buffer, 1, { provider: 'shop' })).toBe(1)
  })

  it('describes only what it keeps', () => {
    const buffer = new RefusalBuffer()
    let described = 0
    const describeOne = () => {
      described += 1
      return record
    }
    for (let time = 0; time < 1_000; time += 1) {
      buffer.add({ provider: 'acme', ring: 'x' }, { network: String(time), now: 0 }, describeOne)
    }
    expect(described).toBe(20)
  })

  it('holds about 2,000 when the database is slow, and one of each kind beyond them', () => {
    const buffer = new RefusalBuffer()
    for (let provider = 0; provider < 1_000; provider += 1) offer(buffer, 20, { provider: `p${provider}` })
    const sizes = buffer.take(0).map(({ kept }) => kept.length)
    expect(sizes).toHaveLength(1_000)
    expect(Math.min(...sizes)).toBe(1)
    expect(sizes.reduce((sum, size) => sum + size)).toBeLessThanOrEqual(3_000)
  })

  it('survives a clock that is set back', () => {
    const buffer = new RefusalBuffer()
    expect(offer(buffer, 10, { now: 1_000_000 })).toBe(10)
    expect(offer(buffer, 10, { now: 0 })).toBe(5)
    expect(offer(buffer, 10, { now: 4_000 })).toBe(2)
  })
})
