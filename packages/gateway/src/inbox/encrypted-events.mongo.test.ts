import { randomUUID } from 'node:crypto'
import { keyUnknown, recordAltered } from '@oncehook/kernel/http/error-codes'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { rotateAll } from '@oncehook/kernel/testing/rotate-all'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { createTestKeys, NO_ENCRYPTION } from '@oncehook/kernel/testing/test-encryption'
import { BSON, type Db } from 'mongodb'
import { afterAll, describe, expect, it } from 'vitest'
import { openInbox, sampleArrival } from '../testing/open-inbox.ts'
import { BODIES, type BodyDocument, bodyIdOf, withBody } from './bodies.ts'
import { eraseEvents, findErasableEvents } from './retention/erase-events.ts'
import { rotateBodies, rotateEvents } from './retention/rotate-evidence.ts'
import { stripOldBodies } from './retention/strip-old-bodies.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const keys = createTestKeys()
const encryption = keys.encryption('first')
const open = stack.use(await openInbox(database, { encryption, admits: () => false }))
const clear = stack.use(await openInbox(database, { admits: () => false }))
const { db } = database
const source = { db, encryption }
const { logger } = memoryLogger()

const createCanary = () => `canary-of-${randomUUID()}`
const personal = (canary: string) => ({
  rawBody: Buffer.from(`{"email":"${canary}@example.com"}`),
  headers: { 'content-type': 'application/json', 'x-signature': canary },
  query: `name=${canary}`,
})

/** Stores an event, encrypted. Resolves to its id. */
async function recordOne(data = personal(createCanary())): Promise<string> {
  const eventId = randomUUID()
  expect(await open.inbox.record(sampleArrival(eventId, data))).toBe('recorded')
  return eventId
}

/** Stores a batch of two events, encrypted. */
async function recordTwo(canary = createCanary()) {
  const { event, ...evidence } = sampleArrival('none', { ...personal(canary), rawBody: Buffer.from(`[${canary}]`) })
  const ids = [randomUUID(), randomUUID()] as const
  const arrival = {
    evidence,
    offers: ids.map((id) => ({ event: { ...event, id } })),
    endsAt: performance.now() + 20_000,
  }
  expect(await open.inbox.recordBatch(arrival)).toEqual(['recorded', 'recorded'])
  const bodyId = bodyIdOf(await open.record(ids[0]))
  return { arrival, ids, body: () => db.collection<BodyDocument>(BODIES).findOne({ _id: bodyId }) }
}

/** Where a text occurs anywhere in a database, as bytes. */
async function findText(searched: Db, text: string): Promise<string[]> {
  const collections = await searched.listCollections({}, { nameOnly: true }).toArray()
  const found = collections.map(async ({ name }) => {
    const documents = await searched.collection(name).find().toArray()
    return documents.filter((one) => Buffer.from(BSON.serialize(one)).includes(text)).map(() => name)
  })
  return (await Promise.all(found)).flat()
}

describe('an inbox with keys', () => {
  it('stores body, headers and query of an event so that none can be read without the key', async () => {
    const canary = createCanary()
    const data = personal(canary)
    const eventId = await recordOne(data)
    expect(await findText(db, canary)).toEqual([])
    const stored = await open.record(eventId)
    expect(stored).toMatchObject({ headers: {}, sealed: { key: 'first' }, eventId, orderId: 'ord_1' })
    expect(stored.raw.length()).toBe(0)
    const read = await withBody(source, stored)
    expect([read.raw.toString(), read.headers, read.query]).toEqual([data.rawBody.toString(), data.headers, data.query])
    expect(read).not.toHaveProperty('sealed')
  })

  it('stores the body of a batch in the same way, once, and reads it for each event', async () => {
    const canary = createCanary()
    const { arrival, ids, body } = await recordTwo(canary)
    expect(await findText(db, canary)).toEqual([])
    for (const id of ids) {
      const read = await withBody(source, await open.record(id))
      expect([read.raw.toString(), read.headers]).toEqual([`[${canary}]`, personal(canary).headers])
    }
    // A redelivery to a process that does not remember the first delivery: the body stays as it is.
    const before = await body()
    expect(before).toHaveProperty('sealed')
    const other = stack.use(await openInbox(database, { encryption: keys.encryption('second') }))
    expect(await other.inbox.recordBatch(arrival)).toEqual(['duplicate', 'duplicate'])
    expect((await body())?.sealed).toEqual(before?.sealed)
    const plain = stack.use(await openInbox(database))
    expect(await plain.inbox.recordBatch(arrival)).toEqual(['duplicate', 'duplicate'])
    expect(await findText(db, canary)).toEqual([])
  })

  it('reads records in plaintext, and recognises redeliveries of both kinds by their hash', async () => {
    const canary = createCanary()
    const data = personal(canary)
    await clear.inbox.record(sampleArrival('evt_clear', data))
    // This shows that the search of the other tests would find the text.
    expect(await findText(db, canary)).toEqual(['events'])
    const read = await withBody(source, await open.record('evt_clear'))
    expect(read.raw.toString()).toBe(data.rawBody.toString())
    expect(await open.inbox.record(sampleArrival('evt_clear', data))).toBe('duplicate')
    const encrypted = await recordOne(data)
    expect(await clear.inbox.record(sampleArrival(encrypted, data))).toBe('duplicate')
    await Promise.all([open.counts.flush(), clear.counts.flush()])
    expect([...open.mismatched, ...clear.mismatched]).toEqual([])
    await open.events.deleteOne({ eventId: 'evt_clear' })
  })

  it('refuses a record whose key is missing, or that was copied from another one', async () => {
    const stored = await open.record(await recordOne())
    const refused = withBody({ db, encryption: keys.encryption('second') }, stored)
    await expect(refused).rejects.toSatisfy(keyUnknown.is)
    await expect(withBody({ db, encryption: NO_ENCRYPTION }, stored)).rejects.toSatisfy(keyUnknown.is)
    const { ids } = await recordTwo()
    const { sealed } = await open.record(ids[0])
    await expect(withBody(source, { ...stored, ...(sealed ? { sealed } : {}) })).rejects.toSatisfy(recordAltered.is)
  })

  it('does not restore erased data by a rotation', async () => {
    const canary = createCanary()
    const { event, ...evidence } = sampleArrival('none', personal(canary))
    const arrival = { evidence, offers: [{ event: { ...event, id: 'evt_gone' } }], endsAt: performance.now() + 20_000 }
    await clear.inbox.record(sampleArrival('evt_gone_too', personal(canary)))
    await clear.inbox.recordBatch(arrival)
    await open.events.updateMany({ eventId: /^evt_gone/ }, { $set: { state: 'done' } })
    const erasing = {
      async command(command: object) {
        for (const eventId of ['evt_gone', 'evt_gone_too']) {
          await eraseEvents(db, await findErasableEvents(db, { provider: 'acme', eventId }))
        }
        return db.command(command)
      },
    }
    const during: Db = new Proxy(db, {
      get: (target, name) => (name === 'command' ? erasing.command : Reflect.get(target, name, target)),
    })
    const rotating = { db: during, encryption, logger }
    const rotated = await rotateAll((after) => rotateEvents(rotating, { after, dryRun: false }))
    // At least the record that was read before the erasure; a slow machine reads the other one after it.
    expect(rotated.changed).toBeGreaterThan(0)
    expect(rotated.unknown).toBe(0)
    await rotateAll((after) => rotateBodies(rotating, { after, dryRun: false }))
    for (const eventId of ['evt_gone', 'evt_gone_too']) expect(await open.record(eventId)).not.toHaveProperty('sealed')
    expect(await findText(db, canary)).toEqual([])
  })

  it('leaves nothing encrypted behind when the retention of the bodies ends, or an event is erased', async () => {
    const over = { $set: { state: 'done', settledAt: new Date(0), stripAt: new Date(0) } } as const
    const eventId = await recordOne()
    await open.events.updateOne({ eventId }, over)
    await stripOldBodies(
      db,
      { retentionMs: Number.MAX_SAFE_INTEGER / 2, bodyRetentionMs: 1 },
      new AbortController().signal,
    )
    expect(await open.record(eventId)).not.toHaveProperty('sealed')
    const { ids, body } = await recordTwo()
    await open.events.updateMany({ eventId: { $in: ids } }, over)
    await eraseEvents(db, await findErasableEvents(db, { provider: 'acme', eventId: ids[0] }))
    expect(await open.record(ids[0])).not.toHaveProperty('sealed')
    expect(await body()).not.toHaveProperty('sealed')
    expect((await withBody(source, await open.record(ids[1]))).raw.length()).toBe(0)
  })
})
