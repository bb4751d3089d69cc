import { ensureIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { armFailPoint } from '@oncehook/kernel/testing/fail-point'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { EVENTS, TASK_STATES } from '@oncehook/queue/task'
import { MongoClient, type ObjectId } from 'mongodb'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { EVENT_INDEXES, type EventDocument } from '../../inbox/event-document.ts'
import { sampleRecord } from '../../testing/sample-record.ts'
import { type FoundEvents, findNewest, type PageOfEvents, type SearchBudget } from './event-search.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const { db, uri, name } = stack.use(await testDatabase(process.env))
const events = db.collection<EventDocument>(EVENTS)
await ensureIndexes(db, [EVENT_INDEXES])

const NO_END: SearchBudget = { ms: Number.POSITIVE_INFINITY, now: () => 0 }
/** A time that is over after this number of steps. */
function stepsOf(count: number): SearchBudget {
  let steps = 0
  return { ms: count, now: () => steps++ }
}

const idsOf = (found: readonly { readonly _id: ObjectId }[]): string[] => found.map(({ _id }) => String(_id))

/** How many records each query of a search for this member examines. */
async function examinedBy(member: keyof EventDocument, value: string): Promise<number[]> {
  await db.command({ profile: 2 })
  await findNewest(db, { filter: { [member]: value }, after: undefined, limit: 10 }, NO_END)
  await db.command({ profile: 0 })
  const ns = `${db.databaseName}.${EVENTS}`
  const finds = await db
    .collection('system.profile')
    .find({ ns, [`command.filter.$and.0.${member}`]: { $exists: true } })
    .toArray()
  return finds.map(({ docsExamined }) => docsExamined)
}

describe('the events of one order among those of many', () => {
  const minute = (at: number): Date => new Date(Date.UTC(2026, 0, 1, 0, at))
  const records = TASK_STATES.map((state, at) => sampleRecord({ state, orderId: 'ord_x', receivedAt: minute(at) }))
  const newest = idsOf(records).toReversed()

  beforeAll(async () => {
    await events.insertMany(records)
    await events.insertMany(Array.from({ length: 3_000 }, (_, at) => sampleRecord({ orderId: `ord_${at}` })))
  })

  it('are found in every state, newest first', async () => {
    const found = await findNewest(db, { filter: { orderId: 'ord_x' }, after: undefined, limit: 10 }, NO_END)
    expect(idsOf(found.records)).toEqual(newest)
  })

  it('are found without reading the others', async () => {
    const examined = await examinedBy('orderId', 'ord_x')
    expect(examined.length).toBeGreaterThan(0)
    // While the server compares plans, it may examine a few other records.
    expect(Math.max(...examined)).toBeLessThan(100)
  })

  it('are paged without gaps across the states', async () => {
    const first = await findNewest(db, { filter: { orderId: 'ord_x' }, after: undefined, limit: 4 }, NO_END)
    const rest = await findNewest(
      db,
      { filter: { orderId: 'ord_x' }, after: idsOf(first.records).at(-1), limit: 4 },
      NO_END,
    )
    expect([...idsOf(first.records), ...idsOf(rest.records)]).toEqual(newest)
  })

  it('are found by state', async () => {
    for (const [at, state] of TASK_STATES.entries()) {
      const found = await findNewest(db, { filter: { orderId: 'ord_x', state }, after: undefined, limit: 4 }, NO_END)
      expect(idsOf(found.records)).toEqual([String(records[at]?._id)])
    }
  })
})

describe('the few events of a provider behind those of another one', () => {
  const ofBusy = (age: number) =>
    sampleRecord({ provider: 'busy', receivedAt: new Date(Date.UTC(2026, 3, 1, 0, 0, -age)) })
  const ofSilent = Array.from({ length: 7 }, (_, day) =>
    sampleRecord({
      ...{ provider: 'silent', receivedAt: new Date(Date.UTC(2026, 2, day + 1)) },
      state: day % 2 === 0 ? 'done' : 'dead',
    }),
  )
  const newest = idsOf(ofSilent).toReversed()

  beforeAll(async () => {
    await events.insertMany([...ofSilent, ...Array.from({ length: 3_000 }, (_, age) => ofBusy(age))])
  })

  it('are found at once, newest first, and paged', async () => {
    const filter = { provider: 'silent' }
    const first = await findNewest(db, { filter, after: undefined, limit: 4 }, stepsOf(0))
    const rest = await findNewest(db, { filter, after: first.next ?? undefined, limit: 4 }, stepsOf(0))
    expect([...idsOf(first.records), ...idsOf(rest.records)]).toEqual(newest)
    expect([first.cut, rest.cut, rest.next]).toEqual([null, null, null])
  })
})

describe('a few events among 20,000, without an index that finds them', () => {
  const provider = 'walked'
  const at = (second: number): Date => new Date(Date.UTC(2026, 5, 1, 0, 0, second))
  const records = Array.from({ length: 20_000 }, (_, index) =>
    sampleRecord({
      ...{ provider, receivedAt: at(index), state: index % 3 === 0 ? 'dead' : 'done', orderId: `ord_${index}` },
      objectId: index % 1_999 === 7 ? 'pay_wanted' : `pay_${index}`,
      deliveries: index % 2_503 === 0 ? 2 : 1,
      mismatches: index % 5_003 === 1 ? 1 : 0,
    }),
  )
  const matching = (isWanted: (record: EventDocument) => boolean): string[] => idsOf(records.filter(isWanted)).reverse()
  const isWanted = ({ objectId }: EventDocument): boolean => objectId === 'pay_wanted'

  beforeAll(async () => {
    const foreign = [7, 'evt', new Date()].map((_id) => ({ ...sampleRecord({ provider }), _id }) as never)
    await events.insertMany([...records, ...foreign])
  })

  /** All pages of a search, each with a new budget. */
  async function readPages(page: Omit<PageOfEvents, 'after'>, budget: () => SearchBudget): Promise<FoundEvents[]> {
    const pages: FoundEvents[] = []
    for (let after: string | undefined; ; ) {
      const found = await findNewest(db, { ...page, after }, budget())
      pages.push(found)
      if (found.next === null) return pages
      after = found.next
    }
  }

  it.each<[filter: PageOfEvents['filter'], expected: (record: EventDocument) => boolean]>([
    [{ duplicates: 'repeated' }, ({ deliveries }) => deliveries > 1],
    [{ duplicates: 'changed' }, ({ mismatches }) => mismatches > 0],
    [{ duplicates: 'any' }, ({ deliveries, mismatches }) => deliveries > 1 || mismatches > 0],
    [{ state: 'dead', paymentId: 'pay_wanted' }, (record) => record.state === 'dead' && isWanted(record)],
    [
      { paymentId: 'pay_wanted', from: at(2_000), to: at(15_000) },
      (record) => isWanted(record) && record.receivedAt >= at(2_000) && record.receivedAt < at(15_000),
    ],
  ])('are found by %j, in pages without gaps or duplicates', async (filter, expected) => {
    const wanted = matching(expected)
    expect(wanted.length).toBeGreaterThan(1)
    for (const [limit, budget] of [
      [1, () => NO_END],
      [3, () => stepsOf(1)],
      [100, () => stepsOf(2)],
    ] as const) {
      const pages = await readPages({ filter: { ...filter, provider }, limit }, budget)
      expect(pages.flatMap((page) => idsOf(page.records))).toEqual(wanted)
      for (const page of pages) {
        expect(page.records.length).toBeLessThanOrEqual(limit)
        const isCut = page.next !== null && page.records.length < limit
        expect(page.cut).toEqual(isCut ? { searchedTo: expect.any(Date) } : null)
      }
    }
  })

  it('are not searched for after the time is up, and the answer says so', async () => {
    const filter = { provider, paymentId: 'pay_of_nobody', to: at(20_000) }
    const page = await findNewest(db, { filter, after: undefined, limit: 10 }, stepsOf(2))
    // The first slices have 500 and 5,000 records.
    const last = records.at(-5_500)
    expect(page).toEqual({ records: [], next: String(last?._id), cut: { searchedTo: last?._id.getTimestamp() } })
  })

  it('are read in slices, never all together', async () => {
    const examined = await examinedBy('secretId', 'of_nobody')
    expect(examined.length).toBeGreaterThan(3)
    expect(Math.max(...examined)).toBeLessThanOrEqual(5_001)
  })
})

describe('a search that the database ends', () => {
  const appName = 'slow-searches'
  const expired = { commands: ['find'], appName, how: { errorCode: 50 } }
  const members = { provider: 'expired', type: 'of.expired', state: 'pending' } as const

  // Every search for the open events of an order reads all that are pending.
  afterEach(async () => {
    await events.deleteMany({ provider: 'expired' })
  })

  it.each([
    ['that has an index, continues in slices', { provider: 'expired', state: 'pending' as const }, 1],
    ['of the few events of a provider, continues in slices', { provider: 'expired' }, 1],
    ['in slices, continues in smaller ones', { type: 'of.expired' }, 1],
  ])('%s', async (_, filter, times) => {
    const due = Array.from({ length: 700 }, () => sampleRecord(members))
    await events.insertMany(due)
    await using client = await new MongoClient(uri.reveal(), { appName }).connect()
    await using _armed = await armFailPoint(uri, { ...expired, times })
    const page = await findNewest(client.db(name), { filter, after: undefined, limit: 700 }, NO_END)
    expect(idsOf(page.records)).toEqual(idsOf(due).toReversed())
  })

  it('fails if even the smallest slice takes too long', async () => {
    await using client = await new MongoClient(uri.reveal(), { appName }).connect()
    await using _armed = await armFailPoint(uri, { ...expired, times: 2 })
    const page = { filter: { type: 'of.expired' }, after: undefined, limit: 1 }
    await expect(findNewest(client.db(name), page, NO_END)).rejects.toMatchObject({ code: 50 })
  })
})
