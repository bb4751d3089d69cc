import { hash } from 'node:crypto'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { NO_ENCRYPTION } from '@oncehook/kernel/testing/test-encryption'
import { toClaim } from '@oncehook/queue/claim/claim'
import { EVENTS } from '@oncehook/queue/task'
import { Binary } from 'mongodb'
import { describe, expect, it } from 'vitest'
import type { EventDocument } from '../inbox/event-document.ts'
import { openInbox } from '../testing/open-inbox.ts'
import { sampleRecord } from '../testing/sample-record.ts'
import { createSharedReads, type ReadTask, readTasks } from './read-tasks.ts'

const CLAIMED = { handler: 'billing', state: 'processing', claim: 'mine' } as const

function recordOf(eventId: string, bytes: number): EventDocument {
  const raw = new Binary(Buffer.from(`{"a":"${'x'.repeat(bytes)}"}`))
  return sampleRecord({ ...CLAIMED, eventId, raw })
}

describe('readTasks', () => {
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

  it('leaves out a record that is gone, and reads eight with one search', async () => {
    await using database = await testDatabase(process.env)
    await using open = await openInbox(database)
    const records = ['a', 'gone', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((id) => recordOf(id, 10))
    await open.events.insertMany(records.filter(({ eventId }) => eventId !== 'gone'))
    const before = open.commands.length
    const source = { db: open.db, encryption: NO_ENCRYPTION }
    const ids: string[] = []
    for await (const { claim } of readTasks(source, 'billing', records.map(toClaim))) ids.push(claim.eventId)
    expect(ids.toSorted()).toEqual([...'abcdefgh'])
    const searches = open.commands.slice(before).filter(({ command }) => command.find === EVENTS)
    expect(searches).toHaveLength(2)
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
