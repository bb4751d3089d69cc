import { describe, expect, it } from 'vitest'
import { createEvidenceRoom } from './evidence-room.ts'

describe('the room for evidence', () => {
  const MIB = 1_024 * 1_024
  const BROUGHT = { query: '', headers: {}, secretId: 's1', requestId: 'r1', provider: 'acme' }
  const room = (bodyRetentionMs: number) => createEvidenceRoom({ bodyRetentionMs, redeliveryMs: () => 1_000 })
  const bringing = (rawBody: Buffer) => ({ provider: 'acme', handler: 'a', evidence: { ...BROUGHT, rawBody } })

  it('keeps what a task of a handler may need, once for all tasks of a delivery, until it is full', () => {
    const { keep } = room(999)
    const shared = Buffer.alloc(5 * MIB)
    for (let task = 0; task < 100; task += 1) expect(keep(bringing(shared))?.rawBody).toBe(shared)
    expect(keep(bringing(Buffer.alloc(5 * MIB)))).toBeUndefined()
    expect(keep(bringing(Buffer.alloc(MIB)))).toBeDefined()
  })

  it('keeps a body that fills it alone for all tasks of its delivery', () => {
    const { keep } = room(999)
    const large = Buffer.alloc(9 * MIB)
    for (let task = 0; task < 3; task += 1) expect(keep(bringing(large))?.rawBody).toBe(large)
    expect(keep(bringing(Buffer.alloc(1)))).toBeUndefined()
  })

  it('has room again for a body after the last task that needs it', () => {
    const { keep, release } = room(999)
    const shared = Buffer.alloc(5 * MIB)
    const [first, second] = [keep(bringing(shared)), keep(bringing(shared))]
    release(first)
    release(undefined)
    expect(keep(bringing(Buffer.alloc(5 * MIB)))).toBeUndefined()
    release(second)
    // The largest one, which has room only if nothing else is kept.
    expect(keep(bringing(Buffer.alloc(9 * MIB)))).toBeDefined()
  })

  it('keeps nothing else', () => {
    const { keep } = room(999)
    expect(Object.keys(keep(bringing(Buffer.alloc(1))) ?? {}).toSorted()).toEqual([
      ...['headers', 'query', 'rawBody', 'requestId', 'secretId'],
    ])
    expect(keep({ ...bringing(Buffer.alloc(1)), handler: undefined })).toBeUndefined()
    expect(room(1_000).keep(bringing(Buffer.alloc(1)))).toBeUndefined()
  })
})
