import { setImmediate as endOfTurn, setTimeout as sleep } from 'node:timers/promises'
import { type Clock, systemClock } from '@oncehook/kernel/clock'
import { invalidRequest, unavailable } from '@oncehook/kernel/error-codes'
import type { AppError } from '@oncehook/kernel/errors'
import { armFailPoint } from '@oncehook/kernel/testing/fail-point'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { type TestDatabase, testDatabase } from '@oncehook/kernel/testing/test-database'
import { describe, expect, it, vi } from 'vitest'
import type { Claim } from '../inbox/claims/claim.ts'
import { indexedClaims } from '../inbox/claims/indexed-claims.ts'
import type { EventDocument } from '../inbox/event-document.ts'
import { createFakeFulfilment, type FakeFulfilment, failWith } from '../testing/fake-fulfilment.ts'
import { type OpenInbox, openInbox, sampleArrival } from '../testing/open-inbox.ts'
import { Dispatcher } from './dispatcher.ts'
import { RecentAnswers } from './health/recent-answers.ts'
import { processBatch } from './process-batch.ts'

// Other tests may keep the machine busy.
vi.setConfig({ testTimeout: 120_000 })

const HOUR_MS = 3_600_000
// Nothing should happen in this time, so there is no event to wait for.
const TWO_POLLS_MS = 1_200
const limits = {
  baseMs: 20,
  capMs: 100,
  maxAgeMs: HOUR_MS,
  orderUnknownMs: HOUR_MS,
  maxInternalErrors: 4,
  internalMs: 0,
}

/** Waits until an assertion passes: `expect.poll` does not support concurrent tests. */
function until(look: () => Promise<void> | void): Promise<void> {
  return vi.waitFor(look, { timeout: 60_000, interval: 20 })
}

/** One gateway's inbox and dispatcher in front of a fake fulfilment. */
interface Running extends AsyncDisposable {
  readonly open: OpenInbox
  readonly dispatcher: Dispatcher
  readonly fake: FakeFulfilment
  readonly lines: Record<string, unknown>[]
  /** Claims that were lost before they were settled. */
  readonly lost: () => number
  /** The number of events that this dispatcher has settled. */
  readonly settled: () => number
  /** Stores events, each with its own order. */
  record(...ids: string[]): Promise<void>
}

interface Options {
  readonly fake?: FakeFulfilment
  readonly batchSize?: number
  readonly concurrency?: number
  readonly leaseMs?: number
  readonly maxCrashes?: number
  readonly clock?: Clock
  /** Whether the test starts the dispatcher. */
  readonly isIdle?: boolean
}

async function start(database: TestDatabase, options: Options = {}): Promise<Running> {
  const { fake = createFakeFulfilment(), batchSize = 100, concurrency = 2, leaseMs = 30_000 } = options
  const { clock = systemClock, maxCrashes = 8 } = options
  await using resources = new AsyncDisposableStack()
  const open = resources.use(
    await openInbox(database, {
      leaseMs,
      dispatcher: { admits: () => dispatcher.admits(), take: (claim) => dispatcher.take(claim) },
    }),
  )
  const { logger, lines } = memoryLogger()
  let lost = 0
  let settled = 0
  const recent = new RecentAnswers(() => performance.now())
  const dispatcher: Dispatcher = new Dispatcher({
    claims: indexedClaims(open.claims({ leaseMs, maxCrashes }), { logger, now: () => performance.now() }),
    ...{ clock, random: Math.random, logger },
    ...{ batchSize, concurrency, leaseMs, maxCrashes },
    process: (batch) => processBatch({ fulfilment: fake.procedures, limits, random: Math.random, recent }, batch),
    onSettled() {
      settled += 1
    },
    onLost(count) {
      lost += count
    },
  })
  if (options.isIdle !== true) dispatcher.start()
  resources.defer(() => dispatcher.stop())
  const owned = resources.move()
  return {
    ...{ open, dispatcher, fake, lines, lost: () => lost, settled: () => settled },
    async record(...ids) {
      for (const id of ids) if (!fake.orders.has(`order of ${id}`)) fake.orders.set(`order of ${id}`, 1)
      await Promise.all(ids.map((id) => open.inbox.record(arrivalOf(id))))
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** The error of a call during which fulfilment dies. */
function connectionReset(): AppError {
  return unavailable({}, { cause: Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }) })
}

function arrivalOf(id: string) {
  const event = { id, type: 'payment.succeeded', objectId: `pay of ${id}`, facts: { orderId: `order of ${id}` } }
  return sampleArrival(id, { event })
}

/** Stores events that no dispatcher has claimed. */
async function preload(database: TestDatabase, fake: FakeFulfilment, ids: readonly string[]): Promise<void> {
  await using open = await openInbox(database, { admits: () => false })
  for (const id of ids) fake.orders.set(`order of ${id}`, 1)
  await Promise.all(ids.map((id) => open.inbox.record(arrivalOf(id))))
}

function many(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `e${index}`)
}

function untilState({ open }: Running, state: EventDocument['state'], count: number): Promise<void> {
  return until(async () => expect(await open.events.countDocuments({ state })).toBe(count))
}

/** Stores new events at each gateway, batch after batch, until it is disposed of. */
function overload(gateways: readonly Running[]) {
  let isOn = true
  const sending = gateways.map(async (gateway, index) => {
    for (let count = 0; isOn; count += 1) {
      const ids = Array.from({ length: 10 }, (_, member) => `load ${index} ${count} ${member}`)
      await gateway.record(...ids)
      await sleep(20)
    }
  })
  return {
    isOn: () => isOn,
    async [Symbol.asyncDispose]() {
      isOn = false
      await Promise.all(sending)
    },
  }
}

describe.concurrent('Dispatcher', () => {
  it('keeps what is stored before it is started, and hands it on then', async () => {
    await using database = await testDatabase(process.env)
    await using running = await start(database, { isIdle: true })
    await running.record('a', 'b')
    await endOfTurn()
    expect(running.fake.calls).toEqual([])
    expect(await running.open.events.countDocuments({ state: 'processing' })).toBe(2)
    running.dispatcher.start()
    await untilState(running, 'done', 2)
  })

  it('gives back what is stored before it is started where it is stopped instead', async () => {
    await using database = await testDatabase(process.env)
    await using running = await start(database, { isIdle: true })
    await running.record('a', 'b')
    await running.dispatcher.stop()
    expect(await running.open.events.countDocuments({ state: 'pending' })).toBe(2)
    expect(running.fake.calls).toEqual([])
  })

  it('gives an event its effect as soon as it is stored, without a write for the claim', async () => {
    await using database = await testDatabase(process.env)
    await using running = await start(database)
    await running.record('a')
    await untilState(running, 'done', 1)
    expect(await running.open.record('a')).toMatchObject({
      ...{ starts: 1, fence: 1, outcome: { kind: 'applied', version: 2 } },
      attempts: [{ outcome: 'applied', code: null }],
    })
    expect(running.fake.applied).toEqual(['a'])
  })

  it('sends the events of a burst together', async () => {
    await using database = await testDatabase(process.env)
    await using running = await start(database)
    await running.record(...many(60))
    await untilState(running, 'done', 60)
    expect(running.fake.calls.length).toBeLessThanOrEqual(4)
    expect(running.fake.applied).toHaveLength(60)
  })

  it('finds what is due and held by nobody', async () => {
    await using database = await testDatabase(process.env)
    const fake = createFakeFulfilment()
    await preload(database, fake, many(25))
    await using running = await start(database, { fake, batchSize: 10 })
    await untilState(running, 'done', 25)
    expect(Math.max(...fake.calls.map(({ length }) => length))).toBe(10)
    expect(new Set(fake.applied).size).toBe(25)
  })

  it('processes a backlog on half of its lanes, so that accepts do not wait for it', async () => {
    await using database = await testDatabase(process.env)
    const fake = createFakeFulfilment()
    const gate = Promise.withResolvers<void>()
    fake.onCall = () => gate.promise
    await preload(database, fake, many(2_800))
    await using running = await start(database, { fake, batchSize: 500, concurrency: 4 })
    await until(() => expect(fake.calls).toHaveLength(2))
    await sleep(TWO_POLLS_MS)
    expect(fake.calls.map(({ length }) => length)).toEqual([500, 500])
    gate.resolve()
    await untilState(running, 'done', 2_800)
    expect(new Set(fake.applied).size).toBe(2_800)
    const calls = fake.calls.length
    await running.record(...many(500).map((id) => `new ${id}`))
    await untilState(running, 'done', 3_300)
    expect(fake.calls.slice(calls).map(({ length }) => length)).toEqual([500])
  })

  it.each([
    ['a few at a time the first time', 0, [25, 25, 10]],
    ['each by itself the second time', 1, Array(12).fill(1)],
  ])('takes over the events that a dead process held, %s', async (_, lost, sizes) => {
    await using database = await testDatabase(process.env)
    const fake = createFakeFulfilment()
    const ids = many(sizes.reduce((sum, size) => sum + size, 0))
    await using dead = await openInbox(database)
    for (const id of ids) fake.orders.set(`order of ${id}`, 1)
    await Promise.all(ids.map((id) => dead.inbox.record(arrivalOf(id))))
    await dead.events.updateMany({}, [{ $set: { lost, begun: lost > 0, leaseUntil: { $add: ['$$NOW', -1] } } }])
    let begun = 0
    fake.onCall = async (commands) => {
      const sent = commands.map(({ eventId }) => eventId)
      const how = lost > 0 ? true : 'together'
      const noted = await dead.events.countDocuments({ eventId: { $in: sent }, begun: how })
      begun += noted
    }
    await using running = await start(database, { fake })
    await untilState(running, 'done', ids.length)
    expect(fake.calls.map(({ length }) => length)).toEqual(sizes)
    expect(begun, 'noted before they were sent').toBe(ids.length)
    expect(await dead.events.countDocuments({ starts: 2, fence: 2, lost: 0 })).toBe(ids.length)
  })

  it('lets no suspect take its neighbours along, nor wait behind them', async () => {
    await using database = await testDatabase(process.env)
    const fake = createFakeFulfilment()
    await preload(database, fake, many(9))
    await using looking = await openInbox(database)
    await looking.events.updateOne({ eventId: 'e4' }, { $set: { lost: 3 } })
    await using running = await start(database, { fake })
    await untilState(running, 'done', 9)
    expect(fake.calls.filter((call) => call.includes('e4'))).toEqual([['e4']])
  })

  it('handles a record without counters, and its neighbours', async () => {
    await using database = await testDatabase(process.env)
    const fake = createFakeFulfilment()
    await preload(database, fake, many(9))
    await using looking = await openInbox(database)
    await looking.events.updateOne({ eventId: 'e4' }, { $unset: { lost: '', starts: '', fence: '', failures: '' } })
    await using running = await start(database, { fake })
    await untilState(running, 'done', 9)
    expect(fake.applied).toHaveLength(9)
  })

  it('reads versions again when an order changes under its hands', async () => {
    await using database = await testDatabase(process.env)
    await using running = await start(database)
    const { fake } = running
    fake.onCall = () => {
      if (fake.calls.length < 4) fake.orders.set('order of a', fake.calls.length + 10)
    }
    await running.record('a')
    await untilState(running, 'done', 1)
    expect(fake.calls).toEqual([['a'], ['a'], ['a'], ['a']])
    expect(await running.open.record('a')).toMatchObject({ starts: 1, failures: 0 })
  })

  it('buries what is refused for good, with the reason, and nothing beside it', async () => {
    await using database = await testDatabase(process.env)
    await using running = await start(database)
    running.fake.answer = ({ eventId }) => (eventId === 'e3' ? { refused: 'amount_mismatch', retry: 'never' } : null)
    await running.record(...many(8))
    await untilState(running, 'done', 7)
    expect(await running.open.record('e3')).toMatchObject({
      ...{ state: 'dead', reason: 'amount_mismatch', starts: 1 },
      lastError: { code: 'amount_mismatch' },
    })
  })

  it('isolates an event that fulfilment cannot read', async () => {
    await using database = await testDatabase(process.env)
    await using running = await start(database)
    running.fake.onCall = (commands) => {
      if (commands.some(({ eventId }) => eventId === 'e5')) throw invalidRequest()
    }
    await running.record(...many(12))
    await untilState(running, 'done', 11)
    expect(await running.open.record('e5')).toMatchObject({ state: 'dead', reason: 'invalid_request' })
    await until(() => expect(running.dispatcher.admits()).toBe(true))
  })

  it('waits for an order that is not there yet, and applies the event once it is', async () => {
    await using database = await testDatabase(process.env)
    await using running = await start(database)
    await running.open.inbox.record(arrivalOf('early'))
    await until(async () => expect((await running.open.record('early')).failures).toBeGreaterThan(1))
    expect(await running.open.record('early')).toMatchObject({ lastError: { code: 'order_unknown' } })
    running.fake.orders.set('order of early', 1)
    await untilState(running, 'done', 1)
  })

  it('gives up on an order that has been unknown for an hour', async () => {
    await using database = await testDatabase(process.env)
    const fake = createFakeFulfilment()
    await preload(database, fake, ['old', 'young'])
    fake.orders.clear()
    await using looking = await openInbox(database)
    const before = { $add: ['$$NOW', -HOUR_MS] }
    const lastError = { code: 'order_unknown', message: '', at: '$$NOW' }
    await looking.events.updateOne({ eventId: 'old' }, [
      { $set: { firstFailedAt: before, orderUnknownSince: before, failures: 9, lastError } },
    ])
    await using running = await start(database, { fake })
    await untilState(running, 'dead', 1)
    expect(await looking.record('old')).toMatchObject({ reason: 'order_unknown', failures: 10 })
    expect(await looking.record('young')).not.toMatchObject({ state: 'dead' })
  })

  describe.concurrent('while fulfilment is away', () => {
    it('gives its claims back, sends one probe at a time, and drains everything when it is back', async () => {
      await using database = await testDatabase(process.env)
      await using running = await start(database, { batchSize: 10, concurrency: 2 })
      const { fake, dispatcher } = running
      failWith(fake, unavailable())
      await running.record(...many(80))
      await until(() => expect(dispatcher.admits()).toBe(false))
      await until(async () =>
        expect(await running.open.events.countDocuments({ state: 'processing' })).toBeLessThanOrEqual(1),
      )
      const first = fake.calls.length
      expect(first).toBeLessThanOrEqual(4)
      await until(() => expect(fake.calls.length).toBeGreaterThan(first + 1))
      for (const probe of fake.calls.slice(first)) expect(probe).toHaveLength(1)
      await running.record('late')
      expect(await running.open.record('late')).toMatchObject({ state: 'pending', starts: 0 })
      expect(await running.open.events.countDocuments({ state: 'dead' })).toBe(0)
      failWith(fake, null)
      await untilState(running, 'done', 81)
      expect(fake.applied.toSorted()).toEqual([...many(80), 'late'].toSorted())
      await until(() => expect(dispatcher.admits()).toBe(true))
    })

    it('keeps one probe in flight, however long it takes', async () => {
      await using database = await testDatabase(process.env)
      await using running = await start(database, { batchSize: 5 })
      const { fake } = running
      failWith(fake, unavailable())
      await running.record(...many(20))
      await until(() => expect(running.dispatcher.admits()).toBe(false))
      const { promise, resolve } = Promise.withResolvers<void>()
      fake.onCall = () => promise
      const before = fake.calls.length
      await until(() => expect(fake.calls.length).toBe(before + 1))
      await sleep(TWO_POLLS_MS)
      expect(fake.calls.length).toBe(before + 1)
      resolve()
      await untilState(running, 'done', 20)
    })

    it('is found again by events that came in just as it went away: by one of them, when its time has come', async () => {
      await using database = await testDatabase(process.env)
      let now = 0
      await using running = await start(database, { batchSize: 1, concurrency: 2, clock: { now: () => now } })
      const { fake, dispatcher } = running
      failWith(fake, unavailable())
      await running.record('first')
      await until(() => expect(dispatcher.admits()).toBe(false))
      // Claimed on insert while all was well, but given to the dispatcher only afterwards.
      await using slow = await openInbox(database)
      for (const id of ['second', 'third']) {
        fake.orders.set(`order of ${id}`, 1)
        await slow.inbox.record(arrivalOf(id))
      }
      for (const claim of slow.claimedOnInsert) dispatcher.take({ ...claim })
      await sleep(TWO_POLLS_MS)
      expect(fake.calls).toHaveLength(1)
      const { promise, resolve } = Promise.withResolvers<void>()
      fake.onCall = () => promise
      now = 1_000
      await until(() => expect(fake.calls).toHaveLength(2))
      await sleep(100)
      expect(fake.calls).toHaveLength(2)
      resolve()
      await until(() => expect(fake.applied.toSorted()).toEqual(['first', 'second', 'third']))
      await until(() => expect(dispatcher.admits()).toBe(true))
    })

    it.each([-HOUR_MS, HOUR_MS])(
      'finds it again though the clock of the process is set by %i ms meanwhile',
      async (step) => {
        await using database = await testDatabase(process.env)
        let offset = 0
        await using running = await start(database, { clock: { now: () => Date.now() + offset } })
        const { fake } = running
        failWith(fake, unavailable())
        await running.record(...many(5))
        await until(() => expect(running.dispatcher.admits()).toBe(false))
        offset = step
        failWith(fake, null)
        await running.record('meanwhile')
        await untilState(running, 'done', 6)
        offset = 0
        await running.record('after')
        await untilState(running, 'done', 7)
      },
    )

    it('takes a refusal of its own for no sign of life', async () => {
      await using database = await testDatabase(process.env)
      await using running = await start(database, { batchSize: 5 })
      const { fake, open } = running
      failWith(fake, unavailable())
      await running.record('a')
      await until(() => expect(running.dispatcher.admits()).toBe(false))
      const { event } = arrivalOf('unreadable')
      const facts = { ...event.facts, unreadable: 'amount_mismatch' } as const
      await open.inbox.record(sampleArrival('unreadable', { event: { ...event, facts } }))
      await untilState(running, 'dead', 1)
      const calls = fake.calls.length
      await until(() => expect(fake.calls.length).toBeGreaterThan(calls + 1))
      // It is logged once for each time that fulfilment was well before.
      expect(running.lines.filter(({ msg }) => msg === 'fulfilment.unreachable')).toHaveLength(1)
    })
  })

  it('keeps its claims while they wait behind a slow call', async () => {
    await using database = await testDatabase(process.env)
    const leaseMs = 9_000
    await using running = await start(database, { batchSize: 1, concurrency: 1, leaseMs })
    await using other = await openInbox(database)
    const { promise, resolve } = Promise.withResolvers<void>()
    running.fake.onCall = () => promise
    await running.record(...many(4))
    const others = other.claims({ owner: 'other', leaseMs })
    const taken: Claim[] = []
    const leasesEndAfter = (time: Date): Promise<void> =>
      until(async () => {
        taken.push(...(await others.reclaimExpired(10)).taken)
        expect(await other.events.countDocuments({ leaseUntil: { $gt: time } })).toBe(4)
      })
    await leasesEndAfter(new Date(0))
    const leases = (await other.events.find().toArray()).map(({ leaseUntil }) => leaseUntil?.getTime() ?? Number.NaN)
    await leasesEndAfter(new Date(Math.max(...leases)))
    expect(taken).toEqual([])
    resolve()
    await untilState(running, 'done', 4)
    expect(running.lost()).toBe(0)
    expect(await other.events.countDocuments({ starts: 1 })).toBe(4)
  })

  it('counts a claim that it lost, and drops its outcome', async () => {
    await using database = await testDatabase(process.env)
    await using running = await start(database)
    await using other = await openInbox(database)
    const { promise, resolve } = Promise.withResolvers<void>()
    running.fake.onCall = () => promise
    await running.record('a')
    await until(() => expect(running.fake.calls.length).toBe(1))
    await other.events.updateOne({ eventId: 'a' }, { $inc: { fence: 1 }, $set: { leaseOwner: 'other' } })
    resolve()
    await until(() => expect(running.lost()).toBe(1))
    expect(await other.record('a')).toMatchObject({ state: 'processing', leaseOwner: 'other' })
  })

  it('settles again when that failed: no second try of the event, no wait for its lease', async () => {
    await using database = await testDatabase(process.env)
    await using running = await start(database)
    const { fake, open } = running
    const { promise, resolve } = Promise.withResolvers<void>()
    fake.onCall = () => promise
    await running.record('a')
    await until(() => expect(fake.calls.length).toBe(1))
    {
      const how = { closeConnection: true }
      await using _ = await armFailPoint(database.uri, { commands: ['update'], appName: open.appName, times: 2, how })
      resolve()
      await until(() => expect(running.lines.map(({ msg }) => msg)).toContain('event.settle-failed'))
    }
    await untilState(running, 'done', 1)
    expect(fake.applied).toEqual(['a'])
    expect(await open.record('a')).toMatchObject({ outcome: { kind: 'applied', version: 2 }, starts: 1 })
    await until(() => expect(running.settled()).toBe(1))
    expect(running.lost()).toBe(0)
  })

  describe.concurrent('with an event that makes fulfilment fail', () => {
    it('lets no neighbour wait for it, keeps calls flowing, and ends it with a reason', async () => {
      await using database = await testDatabase(process.env)
      await using running = await start(database, { maxCrashes: 4 })
      const { fake, open, lines } = running
      fake.onCall = (commands) => {
        if (commands.some(({ eventId }) => eventId === 'bad')) throw unavailable()
      }
      await using _ = overload([running])
      await until(() => expect(running.settled()).toBeGreaterThan(10))
      await running.record(...many(60), 'bad')
      await until(async () => expect(await open.record('bad')).toMatchObject({ state: 'dead' }))
      expect(await open.record('bad')).toMatchObject({ reason: 'fulfilment_failed' })
      await until(async () => {
        expect(await open.events.countDocuments({ eventId: { $in: many(60) }, state: 'done' })).toBe(60)
      })
      expect(await open.events.countDocuments({ state: 'done', failures: { $gt: 0 } }), 'put off').toBe(0)
      expect(lines.filter(({ msg }) => msg === 'fulfilment.unreachable')).toEqual([])
      const tries = fake.calls.filter((call) => call.includes('bad'))
      expect(tries.length).toBeLessThanOrEqual(4)
      expect(tries.at(-1)).toEqual(['bad'])
    })

    it('lets it kill fulfilment no more often than MAX_STARTS, also where nothing else is tried', async () => {
      await using database = await testDatabase(process.env)
      await using running = await start(database, { maxCrashes: 3 })
      const { fake, open } = running
      let deaths = 0
      let isUp = true
      const { versions } = fake.procedures
      Object.assign(fake.procedures, {
        versions: (ids: string[]) => (isUp ? versions(ids) : Promise.reject(unavailable())),
      })
      fake.onCall = (commands) => {
        if (!isUp) throw unavailable()
        if (!commands.some(({ eventId }) => eventId === 'bad')) return
        deaths += 1
        isUp = false
        setTimeout(() => {
          isUp = true
        }, 300)
        throw connectionReset()
      }
      await running.record(...many(30), 'bad')
      await untilState(running, 'done', 30)
      await untilState(running, 'dead', 1)
      expect(await open.record('bad')).toMatchObject({ reason: 'fulfilment_failed' })
      expect(deaths).toBeLessThanOrEqual(3)
    })

    it('counts no outage against it, however often fulfilment is away', async () => {
      await using database = await testDatabase(process.env)
      await using running = await start(database, { maxCrashes: 2 })
      const { fake, open } = running
      failWith(fake, unavailable())
      await running.record('a')
      await until(async () => expect((await open.record('a')).failures).toBeGreaterThan(4))
      expect(await open.record('a')).not.toHaveProperty('failedCalls')
      for (let outages = 0; outages < 5; outages += 1) {
        failWith(fake, unavailable())
        await running.record(...many(20).map((id) => `${id} of ${outages}`))
        await until(() => expect(running.dispatcher.admits()).toBe(false))
        failWith(fake, null)
        await untilState(running, 'done', 1 + 20 * (outages + 1))
      }
      expect(await open.events.countDocuments({ state: 'dead' })).toBe(0)
    })

    it.each([
      ['from the start', false],
      ['after it was well', true],
    ])('counts no outage in which fulfilment dies at each event, %s', async (_, wasWell) => {
      await using database = await testDatabase(process.env)
      await using running = await start(database, { maxCrashes: 2 })
      const { fake, open } = running
      if (wasWell) {
        await running.record('before')
        await untilState(running, 'done', 1)
      }
      const before = fake.calls.length
      fake.onCall = () => {
        throw connectionReset()
      }
      await running.record(...many(3))
      const alone = () => fake.calls.slice(before).filter(({ length }) => length === 1)
      await until(() => expect(alone().length).toBeGreaterThan(4))
      expect(await open.events.countDocuments({ state: 'dead' })).toBe(0)
      failWith(fake, null)
      await untilState(running, 'done', wasWell ? 4 : 3)
    })

    it('lets it kill fulfilment no more often than MAX_STARTS where it is the only event', async () => {
      await using database = await testDatabase(process.env)
      await using running = await start(database, { maxCrashes: 3 })
      running.fake.onCall = () => {
        throw connectionReset()
      }
      await running.record('bad')
      await untilState(running, 'dead', 1)
      expect(await running.open.record('bad')).toMatchObject({ reason: 'fulfilment_failed' })
      expect(running.fake.calls).toHaveLength(3)
      await running.record('bad')
      await running.open.counts.flush()
      await until(async () => expect(await running.open.record('bad')).toMatchObject({ state: 'dead', revivals: 1 }))
      expect(running.fake.calls, 'deaths after another delivery').toHaveLength(4)
    })

    it('does not hold the others while a call with it hangs', async () => {
      await using database = await testDatabase(process.env)
      await using running = await start(database)
      const { fake, open } = running
      const hanging: PromiseWithResolvers<void>[] = []
      fake.onCall = (commands) => {
        if (!commands.some(({ eventId }) => eventId === 'bad')) return
        const call = Promise.withResolvers<void>()
        hanging.push(call)
        return call.promise
      }
      await using _ = overload([running])
      await until(() => expect(running.settled()).toBeGreaterThan(10))
      await running.record(...many(60), 'bad')
      for (let tries = 1; tries <= 3; tries += 1) {
        await until(() => expect(hanging).toHaveLength(tries))
        const before = running.settled()
        await until(() => expect(running.settled()).toBeGreaterThan(before + 10))
        hanging.at(-1)?.reject(unavailable())
      }
      const done = { eventId: { $in: many(60) }, state: 'done' } as const
      await until(async () => expect(await open.events.countDocuments(done)).toBe(60))
      for (const call of hanging) call.reject(unavailable())
    })

    it('ends none by a fault that fulfilment has with every order', async () => {
      await using database = await testDatabase(process.env)
      await using running = await start(database)
      const { fake } = running
      fake.answer = () => ({ refused: 'internal', retry: 'later' })
      await running.record(...many(3))
      await until(() => expect(fake.calls.flat().length).toBeGreaterThan(3 * limits.maxInternalErrors))
      expect(await running.open.events.countDocuments({ state: 'dead' })).toBe(0)
      fake.answer = () => null
      await untilState(running, 'done', 3)
    })

    it('ends one that fulfilment cannot read, also where each event travels alone', async () => {
      await using database = await testDatabase(process.env)
      await using running = await start(database, { batchSize: 1 })
      const { fake, open } = running
      fake.onCall = (commands) => {
        if (commands.some(({ eventId }) => eventId === 'bad')) throw invalidRequest()
      }
      await running.record('bad')
      await using _ = overload([running])
      await until(async () => expect(await open.record('bad')).toMatchObject({ state: 'dead' }))
      expect(await open.record('bad')).toMatchObject({
        reason: 'invalid_request',
        lastError: { code: 'invalid_request' },
      })
      const { attempts } = await open.record('bad')
      expect(attempts.length).toBeGreaterThan(limits.maxInternalErrors)
      expect(await open.events.countDocuments({ state: 'dead' })).toBe(1)
    })

    it('ends one that fulfilment refuses with `internal`, and shows that as the reason', async () => {
      await using database = await testDatabase(process.env)
      await using running = await start(database)
      const { fake, open } = running
      fake.answer = ({ eventId }) => (eventId === 'bad' ? { refused: 'internal', retry: 'later' } : null)
      await running.record(...many(8), 'bad')
      await untilState(running, 'done', 8)
      await untilState(running, 'dead', 1)
      expect(await open.record('bad')).toMatchObject({
        ...{ reason: 'internal', failures: limits.maxInternalErrors, lastError: { code: 'internal' } },
      })
    })
  })

  describe.concurrent('under more load than goes through', () => {
    it('takes over what a dead process held, and tries again what was put off, while the load lasts', async () => {
      await using database = await testDatabase(process.env)
      const fake = createFakeFulfilment()
      fake.onCall = () => sleep(100)
      const options = { fake, batchSize: 5, leaseMs: 1_000 }
      await using one = await start(database, options)
      await using two = await start(database, options)
      await using load = overload([one, two])
      await until(() => expect([one, two].some(({ dispatcher }) => dispatcher.admits())).toBe(false))
      await using dead = await openInbox(database, { leaseMs: options.leaseMs })
      for (const id of many(20)) fake.orders.set(`order of ${id}`, 1)
      await Promise.all(many(20).map((id) => dead.inbox.record(arrivalOf(id))))
      await dead.inbox.record(arrivalOf('early'))
      await dead.claims().release(dead.claimedOnInsert.filter(({ event }) => event.id === 'early'))
      await until(async () => expect((await dead.record('early')).failures).toBeGreaterThan(0))
      fake.orders.set('order of early', 1)
      const these = { eventId: { $in: [...many(20), 'early'] } }
      await until(async () => expect(await dead.events.countDocuments({ ...these, state: 'done' })).toBe(21))
      const open = await dead.events.countDocuments({ state: { $in: ['pending', 'processing'] } })
      expect(load.isOn(), 'the load lasts').toBe(true)
      expect(open, 'more than goes through').toBeGreaterThan(50)
    })

    it('lets no event overtake those that wait in the database', async () => {
      await using database = await testDatabase(process.env)
      const fake = createFakeFulfilment()
      await preload(database, fake, many(120))
      fake.onCall = () => sleep(50)
      await using one = await start(database, { fake, batchSize: 5 })
      await using load = overload([one])
      await until(async () => {
        expect(await one.open.events.countDocuments({ eventId: { $in: many(120) }, state: 'done' })).toBe(120)
      })
      const sent = fake.calls.flat()
      const last = Math.max(...many(120).map((id) => sent.indexOf(id)))
      const overtook = sent.slice(0, last).filter((id) => id.startsWith('load'))
      expect(load.isOn()).toBe(true)
      // Events that arrived before the first poll had found the others.
      expect(overtook.length).toBeLessThan(60)
    })
  })

  it('leaves another process its share of a long list', async () => {
    await using database = await testDatabase(process.env)
    const fake = createFakeFulfilment()
    await preload(database, fake, many(400))
    const gate = Promise.withResolvers<void>()
    fake.onCall = () => gate.promise
    const options = { fake, batchSize: 20, isIdle: true }
    await using one = await start(database, options)
    await using two = await start(database, options)
    one.dispatcher.start()
    await untilState(one, 'processing', 40)
    await sleep(TWO_POLLS_MS)
    expect(await one.open.events.countDocuments({ state: 'processing' })).toBe(40)
    two.dispatcher.start()
    await untilState(two, 'processing', 80)
    gate.resolve()
    await until(() => expect(one.settled() + two.settled()).toBe(400))
    expect(await one.open.events.countDocuments({ state: 'done' })).toBe(400)
    expect(Math.min(one.settled(), two.settled())).toBeGreaterThanOrEqual(40)
    expect(new Set(fake.applied).size).toBe(400)
    expect(one.lost() + two.lost()).toBe(0)
  })

  describe.concurrent('stop', () => {
    it('lets the call under way end and gives the rest back at once, nothing counted', async () => {
      await using database = await testDatabase(process.env)
      await using running = await start(database, { batchSize: 2, concurrency: 1 })
      const { fake, open, dispatcher } = running
      const { promise, resolve } = Promise.withResolvers<void>()
      fake.onCall = () => promise
      await running.record(...many(6))
      await until(() => expect(fake.calls.length).toBe(1))
      const stopped = dispatcher.stop()
      await untilState(running, 'pending', 4)
      resolve()
      await stopped
      expect(await open.events.countDocuments({ state: 'done' })).toBe(2)
      expect(await open.events.countDocuments({ state: 'pending', lost: 0, failures: 0 })).toBe(4)
      expect(fake.calls).toHaveLength(1)
      expect(dispatcher.admits()).toBe(false)
    })

    it('does not wait for a call that hangs, and gives its events back too', async () => {
      await using database = await testDatabase(process.env)
      await using running = await start(database, { batchSize: 2 })
      const { promise, resolve } = Promise.withResolvers<void>()
      running.fake.onCall = () => promise
      await running.record('a', 'b')
      await until(() => expect(running.fake.calls.length).toBe(1))
      await running.dispatcher.stop()
      expect(await running.open.events.countDocuments({ state: 'pending', lost: 0 })).toBe(2)
      resolve()
    })
  })
})
