import { hash } from 'node:crypto'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { NO_ENCRYPTION } from '@oncehook/kernel/testing/test-encryption'
import { toClaim } from '@oncehook/queue/claim/claim'
import { EVENTS } from '@oncehook/queue/task'
import { Binary, BSON } from 'mongodb'
import { describe, expect, it } from 'vitest'
import type { EventDocument } from '../inbox/event-document.ts'
import { openInbox } from '../testing/open-inbox.ts'
import { sampleRecord } from '../testing/sample-record.ts'
import { createSharedReads, type ReadTask, readTasks } from './read-tasks.ts'

const KIB = 1_024
const MOST_BYTES = 2 * KIB * KIB

const CLAIMED = { handler: 'billing', state: 'processing', claim: 'mine' } as const

function recordOf(eventId: string, bytes: number): EventDocument {
  const raw = new Binary(Buffer.from(`{"a":"${'x'.repeat(bytes)}"}`))
  return sampleRecord({ ...CLAIMED, eventId, raw })
}

/** The answer to a search. */
interface Reply {
  readonly cursor?: { readonly firstBatch?: readonly object[]; readonly nextBatch?: readonly object[] }
}

describe('readTasks', () => {
  it('gets at most 2 MiB of records from the database at a time, or one larger one', async () => {
    await using database = await testDatabase(process.env)
    await using open = await openInbox(database)
    const sizes = [700, 700, 700, 10, 10, 3_000, 10, 900, 900, 900]
    const records = sizes.map((kib, index) => recordOf(`e${index}`, kib * KIB))
    await open.events.insertMany(records)
    const replies: Reply[] = []
    open.db.client.on('commandSucceeded', ({ reply }) => replies.push(reply as Reply))
    const source = { db: open.db, encryption: NO_ENCRYPTION }
    const tasks: ReadTask[] = []
    for await (const task of readTasks(source, 'billing', records.map(toClaim))) tasks.push(task)
    expect(tasks.map(({ claim }) => claim.eventId).toSorted()).toEqual(sizes.map((_, index) => `e${index}`))
    const batches = replies.map(({ cursor }) => [...(cursor?.firstBatch ?? []), ...(cursor?.nextBatch ?? [])])
    const tooLarge = batches.filter((batch) => batch.length > 1 && BSON.calculateObjectSize(batch) > MOST_BYTES)
    expect(tooLarge).toEqual([])
    // Small records still come together.
    expect(replies.length).toBeLessThan(sizes.length)
  })

  it('distinguishes an empty body that was signed from one that was removed', async () => {
    await using database = await testDatabase(process.env)
    await using open = await openInbox(database)
    const raw = new Binary(Buffer.alloc(0))
    const records = [
      sampleRecord({ ...CLAIMED, eventId: 'signed', raw, bodyHash: hash('sha256', '', 'base64') }),
      sampleRecord({ ...CLAIMED, eventId: 'removed', raw, bodyHash: hash('sha256', '{}', 'base64') }),
    ]
    await open.events.insertMany(records)
    const source = { db: open.db, encryption: NO_ENCRYPTION }
    const read = new Map<string, ReadTask['read']>()
    for await (const task of readTasks(source, 'billing', records.map(toClaim))) {
      read.set(task.claim.eventId, task.read)
    }
    expect(read.get('signed')).toMatchObject({ json: expect.stringContaining('"raw":""') })
    expect(read.get('removed')).toMatchObject({ refused: 'body_missing', retry: 'never' })
  })

  it('leaves out a task that another process has claimed since', async () => {
    await using database = await testDatabase(process.env)
    await using open = await openInbox(database)
    const records = ['mine', 'taken over', 'settled'].map((id) => recordOf(id, 10))
    await open.events.insertMany(records)
    await open.events.updateOne({ eventId: 'taken over' }, { $set: { claim: 'of another' } })
    await open.events.updateOne({ eventId: 'settled' }, { $set: { state: 'done' }, $unset: { claim: '' } })
    const source = { db: open.db, encryption: NO_ENCRYPTION }
    const ids: string[] = []
    for await (const { claim } of readTasks(source, 'billing', records.map(toClaim))) ids.push(claim.eventId)
    expect(ids).toEqual(['mine'])
  })

  it('leaves out a record that is gone, and reads small ones with one search', async () => {
    await using database = await testDatabase(process.env)
    await using open = await openInbox(database)
    const records = ['a', 'gone', 'b'].map((id) => recordOf(id, 10))
    await open.events.insertMany(records.filter(({ eventId }) => eventId !== 'gone'))
    const before = open.commands.length
    const source = { db: open.db, encryption: NO_ENCRYPTION }
    const ids: string[] = []
    for await (const { claim } of readTasks(source, 'billing', records.map(toClaim))) ids.push(claim.eventId)
    expect(ids.toSorted()).toEqual(['a', 'b'])
    const searches = open.commands.slice(before).filter(({ command }) => command.find === EVENTS)
    expect(searches).toHaveLength(1)
  })

  it('reads tasks that are wanted at the same time with one search, and says which is gone', async () => {
    await using database = await testDatabase(process.env)
    await using open = await openInbox(database)
    const records = ['a', 'gone', 'b', 'c'].map((id) => recordOf(id, 10))
    await open.events.insertMany(records.filter(({ eventId }) => eventId !== 'gone'))
    const before = open.commands.length
    const read = createSharedReads({ db: open.db, encryption: NO_ENCRYPTION }, 'billing')
    const idsOf = async (record: EventDocument): Promise<string[]> => {
      const ids: string[] = []
      for await (const { claim } of read([toClaim(record)])) ids.push(claim.eventId)
      return ids
    }
    expect(await Promise.all(records.map(idsOf))).toEqual([['a'], [], ['b'], ['c']])
    const searches = open.commands.slice(before).filter(({ command }) => command.find === EVENTS)
    expect(searches).toHaveLength(1)
  })
})
