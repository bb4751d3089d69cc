import { randomUUID } from 'node:crypto'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { createTestKeys, NO_ENCRYPTION } from '@oncehook/kernel/testing/test-encryption'
import { afterAll, describe, expect, it } from 'vitest'
import { createIdempotencyKeys, IDEMPOTENCY_KEYS, type IdempotencyRow, type KeyedRequest } from './idempotency-keys.ts'
import { rotateAnswers } from './rotate-records.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const { db } = stack.use(await testDatabase(process.env))
const rows = db.collection<IdempotencyRow>(IDEMPOTENCY_KEYS)
await rows.createIndex({ principal: 1, key: 1 }, { unique: true })
const times = { ttlMs: 60_000, leaseMs: 30_000, encryption: NO_ENCRYPTION }
const keys = createIdempotencyKeys(db, times)

function keyed(): KeyedRequest {
  return { principal: 'shop', key: randomUUID(), fingerprint: 'print' }
}

it('is taken over from a run whose lease ends later than any granted lease, but does not expire sooner', async () => {
  const [ahead, held, answered] = [keyed(), keyed(), keyed()]
  for (const request of [ahead, held]) await keys.claim(request, { run: 'old', orderId: 'ord_old' })
  const row = await keys.claim(answered, { run: 'old', orderId: 'ord_old' })
  await keys.finish(row, 'the answer')
  const hourAhead = new Date(Date.now() + 3_600_000)
  await rows.updateOne({ key: ahead.key }, { $set: { leaseUntil: hourAhead } })
  await rows.updateOne({ key: answered.key }, { $set: { expiresAt: hourAhead, leaseUntil: hourAhead } })
  const fresh = { run: 'new', orderId: 'ord_new' }
  expect(await keys.claim(ahead, fresh)).toMatchObject({ run: 'new', orderId: 'ord_old' })
  expect(await keys.claim(held, fresh)).toMatchObject({ run: 'old' })
  expect(await keys.claim(answered, fresh)).toMatchObject({ run: 'old', answer: 'the answer' })
})

describe('a key with encryption', () => {
  const made = createTestKeys()
  const encrypted = (...ids: string[]) => createIdempotencyKeys(db, { ...times, encryption: made.encryption(...ids) })

  it('stores no fingerprint with which a reader could test guesses', async () => {
    const request = keyed()
    expect(await encrypted('one').claim(request, { run: 'a', orderId: 'o' })).toMatchObject({ fingerprint: 'print' })
    expect(await rows.findOne({ key: request.key })).toMatchObject({ fingerprint: { key: 'one' } })
  })

  it('is taken over by the same request from a run that has ended, and by no other', async () => {
    const request = keyed()
    const keys = encrypted('one')
    await keys.claim(request, { run: 'first', orderId: 'ord_first' })
    const next = { run: 'next', orderId: 'ord_next' }
    expect(await keys.claim(request, next)).toMatchObject({ run: 'first', orderId: 'ord_first' })
    await keys.release(request, 'first')
    expect(await keys.claim({ ...request, fingerprint: 'other' }, next)).toMatchObject({ run: 'first' })
    const runs = await Promise.all(
      Array.from({ length: 8 }, (_, n) => keys.claim(request, { run: `run-${n}`, orderId: 'ord_none' })),
    )
    expect(runs.filter(({ run }, n) => run === `run-${n}`)).toHaveLength(1)
    for (const { orderId } of runs) expect(orderId).toBe('ord_first')
  })

  it('is recognised when it was made without encryption, and after rotations', async () => {
    const request = keyed()
    await keys.claim(request, { run: 'old', orderId: 'ord_old' })
    await keys.release(request, 'old')
    const [one, two] = [encrypted('one'), encrypted('two', 'one')]
    expect(await one.claim(request, { run: 'new', orderId: 'ord_new' })).toMatchObject({
      run: 'new',
      orderId: 'ord_old',
    })
    const { logger } = memoryLogger()
    const first = { encryption: made.encryption('one'), db, logger }
    await rotateAnswers(first, { after: null, dryRun: false })
    expect(await rows.findOne({ key: request.key })).toMatchObject({ fingerprint: { key: 'one' } })
    const second = { encryption: made.encryption('two', 'one'), db, logger }
    await rotateAnswers(second, { after: null, dryRun: false })
    expect(await rows.findOne({ key: request.key })).toMatchObject({ fingerprint: { key: 'two' } })
    await two.release(request, 'new')
    const taken = await encrypted('two').claim(request, { run: 'last', orderId: 'ord_last' })
    expect(taken).toMatchObject({ run: 'last', orderId: 'ord_old', fingerprint: 'print' })
  })
})
