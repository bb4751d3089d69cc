import { ensureIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { type TestDatabase, testDatabase } from '@oncehook/kernel/testing/test-database'
import { NO_ENCRYPTION } from '@oncehook/kernel/testing/test-encryption'
import { type Document, ObjectId } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { ReplayRunner } from '../../operator/replays/replay-runner.ts'
import { createReplays } from '../../operator/replays/replays.ts'
import { filtersOf, namesRecords, openBehindMongos, slotsIn } from '../../testing/mongos/behind-mongos.ts'
import { applied, changeRecord, done, failed, fromNow, idsOf, steadyClaims } from '../../testing/open-fresh-inbox.ts'
import { type OpenInbox, openInbox, sampleArrival } from '../../testing/open-inbox.ts'
import type { Claim } from '../claims/claim.ts'
import { DUE_INDEX, EVENTS, KEY_INDEX, PROCESSING_INDEX, SLOT_KEY_INDEX } from '../event-document.ts'
import { pausedDueAt } from '../pauses/paused-due-at.ts'
import { slotOf } from './slot.ts'

/** Searches for whatever is due or abandoned name no record: they are the only ones that may ask all shards. */
function isPoll(command: Document): boolean {
  const { find, aggregate, hint } = command
  const isSearch = (find ?? aggregate) === EVENTS && (hint === DUE_INDEX || hint === PROCESSING_INDEX)
  return isSearch && !namesRecords(command)
}

/** Lets every kind of command of the accept and dispatch paths happen. Returns the ids of the events. */
async function runEverything(database: TestDatabase, open: OpenInbox, prefix: string): Promise<string[]> {
  const id = (name: string): string => `${prefix}-${name}`
  await using declining = await openInbox(database, { admits: () => false })
  const claims = open.claims({ maxCrashes: 2 })
  await Promise.all(['a', 'b', 'c', 'd'].map((name) => open.inbox.record(sampleArrival(id(name)))))
  await Promise.all(['e', 'f'].map((name) => declining.inbox.record(sampleArrival(id(name)))))
  // The other process does not remember these, so the database refuses them.
  expect(await Promise.all(['a', 'b'].map((name) => declining.inbox.record(sampleArrival(id(name)))))).toEqual([
    'duplicate',
    'duplicate',
  ])
  await declining.counts.flush()
  open.commands.push(...declining.commands)

  const held = new Map(open.claimedOnInsert.map((claim) => [claim.event.id, claim]))
  const claimOf = (name: string): Claim => {
    const claim = held.get(id(name))
    if (claim === undefined) throw new Error(`${name} is not held`)
    return claim
  }
  await claims.begin([claimOf('a')], 'together')
  await claims.release([claimOf('b')])
  const dead = { state: 'dead', reason: 'some' } as const
  const settled = [
    { claim: claimOf('a'), settlement: done, attempt: applied },
    { claim: claimOf('c'), settlement: dead, attempt: failed },
  ]
  const lost = { claim: { ...claimOf('b'), fence: 9 }, settlement: done, attempt: applied }
  expect(await claims.settle([...settled, lost])).toEqual([lost])

  const paused = new Map([['other', pausedDueAt('other')]])
  await declining.inbox.record(sampleArrival(id('g'), { provider: 'other' }))
  const due = await open.claims({ paused: () => paused }).claimDue(10)
  expect(idsOf(due).toSorted()).toEqual(['b', 'e', 'f'].map(id))
  await changeRecord(open, id('e'), { $set: { leaseUntil: fromNow(-1), leaseOwner: 'gone' } })
  expect(idsOf((await claims.takeOver(10)).taken)).toEqual([id('e')])

  const steady = await steadyClaims(open, { maxCrashes: 2, owner: 'steady' })
  const suspect = { begun: true, lost: 1, leaseUntil: fromNow(-1), leaseOwner: 'gone' }
  await changeRecord(open, id('d'), { $set: suspect })
  expect((await steady.takeOver(10)).poisoned).toBe(1)

  await using later = await openInbox(database)
  expect(await later.inbox.record(sampleArrival(id('c')))).toBe('duplicate')
  await later.counts.flush()
  expect((await open.record(id('c'))).state).toBe('pending')
  open.commands.push(...later.commands)

  const from = open.commands.length
  const replays = createReplays(open.db)
  const _id = new ObjectId()
  const { logger } = memoryLogger()
  const target = { filter: { eventId: id('a') } }
  await replays.start(_id, { by: 'alice', reason: 'a test', target, ratePerSecond: null, includeDone: true }, 1)
  const parts = {
    db: open.db,
    encryption: NO_ENCRYPTION,
    providers: () => new Map(),
    fetch,
    random: Math.random,
    logger,
  }
  await new ReplayRunner({ ...parts, onError: (error) => expect.unreachable(String(error)) }).tick()
  expect((await open.record(id('a'))).state).toBe('pending')
  const replayed = open.commands.splice(from)
  open.commands.push(...replayed.filter(({ commandName }) => commandName === 'update'))
  return ['a', 'b', 'c', 'd', 'e', 'f'].map(id)
}

describe('commands that name records', () => {
  it('name their slots behind a mongos, so that they go only to the shards of these records', async () => {
    await using behindMongos = await openBehindMongos(process.env)
    await using open = await openInbox(behindMongos)
    const ids = await runEverything(behindMongos, open, 'sharded')
    const commands = open.commands.map(({ command }) => command).filter((one) => filtersOf(one).length > 0)
    expect(commands.filter(isPoll).length).toBeGreaterThan(0)
    const kinds = new Set(commands.map(({ insert, update, find }) => insert ?? update ?? find ?? 'aggregate'))
    expect(kinds).toEqual(new Set([EVENTS, 'aggregate']))
    const own = new Set(ids.map((eventId) => slotOf({ provider: 'acme', eventId })))
    own.add(slotOf({ provider: 'other', eventId: 'sharded-g' }))
    for (const command of commands.filter((one) => !isPoll(one))) {
      for (const filter of filtersOf(command)) {
        for (const slot of slotsIn(filter)) expect(own.has(Number(slot)), JSON.stringify(filter)).toBe(true)
      }
    }
  })

  it('name none otherwise, because that would only cost the server time', async () => {
    await using mongod = await testDatabase(process.env)
    await using open = await openInbox(mongod)
    await runEverything(mongod, open, 'whole')
    const commands = open.commands.map(({ command }) => command).filter(({ insert }) => insert === undefined)
    const filters = commands.flatMap(filtersOf).filter((filter) => !('replays.id' in filter))
    expect(filters.length).toBeGreaterThan(20)
    expect(filters.filter((filter) => 'slot' in filter)).toEqual([])
  })
})

it('accepts each event once with the indexes of a sharded collection', async () => {
  await using database = await testDatabase(process.env)
  const events = database.db.collection(EVENTS)
  await ensureIndexes(database.db, [{ collection: EVENTS, indexes: [SLOT_KEY_INDEX, { ...KEY_INDEX, unique: false }] }])
  await using one = await openInbox(database)
  await using other = await openInbox(database)
  expect(await one.inbox.record(sampleArrival('a'))).toBe('recorded')
  expect(await other.inbox.record(sampleArrival('a'))).toBe('duplicate')
  expect(await events.countDocuments()).toBe(1)
  const unique = (await events.indexes()).filter((index) => index.unique === true).map(({ name }) => name)
  expect(unique).toEqual([SLOT_KEY_INDEX.name])
})

describe('records of release 0.1.0, which have no slot', () => {
  it('are claimed, settled and counted behind a mongos too', async () => {
    await using behindMongos = await openBehindMongos(process.env)
    await using open = await openInbox(behindMongos, { admits: () => false })
    const ids = Array.from({ length: 5 }, (_, index) => `old-${index}`)
    await Promise.all(ids.map((id) => open.inbox.record(sampleArrival(id))))
    await open.events.updateMany({ eventId: { $in: ids.slice(1) } }, { $unset: { slot: '' } })
    const claims = open.claims()
    const due = await claims.claimDue(10)
    expect(idsOf(due).toSorted()).toEqual(ids)
    expect(await claims.settle(due.map((claim) => ({ claim, settlement: done, attempt: applied })))).toEqual([])
    await using other = await openInbox(behindMongos)
    expect(await Promise.all(ids.map((id) => other.inbox.record(sampleArrival(id))))).toEqual(
      ids.map(() => 'duplicate'),
    )
    other.commands.length = 0
    await other.counts.flush()
    for (const id of ids) expect(await open.record(id)).toMatchObject({ state: 'done', deliveries: 2 })
    // A mongos refuses the update of one record that names neither its `_id` nor its shard key.
    const updates = other.commands.flatMap(({ command }) => command.updates ?? [])
    expect(updates).toHaveLength(5)
    expect(updates.filter(({ q }: Document) => !('_id' in q || 'slot' in q))).toEqual([])
  })
})
