import { randomUUID } from 'node:crypto'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { sampleRecord } from '../../testing/sample-record.ts'
import { createOperatorClient, paymentEvent, startOperatedSystem, TOKENS } from '../../testing/start-operated-system.ts'
import type { TailMessage } from './tail-procedure.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
// Together with one of the usual operators they can take all places.
const crowd = Object.fromEntries(
  Array.from({ length: 5 }, (_, index) => [`guest${index}`, `token-of-guest-${randomUUID()}`]),
)
const OPERATOR_TOKENS = JSON.stringify({ ...TOKENS.operators, ...crowd })
const system = stack.use(await startOperatedSystem(database, { settings: { OPERATOR_TOKENS } }))
const { adminUrl } = system.gateway

interface Sent {
  readonly event: string
  readonly id: string
  readonly data: string
}

interface TailOptions {
  readonly token?: string
  readonly input?: object
  readonly lastEventId?: string
  readonly url?: string
}

/** The requests of all tails of the system that have been opened. */
const opened: string[] = []

/** Waits until no tail of the system is open. Each leaves a line in the log when it ends. */
async function allLeft(): Promise<void> {
  const ended = () =>
    new Set(system.gateway.logs.flatMap(({ msg, requestId }) => (msg === 'operator.called' ? [requestId] : [])))
  await expect.poll(() => opened.filter((id) => !ended().has(id))).toEqual([])
}

/** Opens a tail as a browser does, and reads its events one after the other. */
async function openTail({
  token = system.tokens.operators.alice,
  input,
  lastEventId,
  url = adminUrl,
}: TailOptions = {}) {
  const leaving = new AbortController()
  const query = input === undefined ? '' : `?input=${encodeURIComponent(JSON.stringify(input))}`
  const response = await fetch(`${url}/operator/events.tail${query}`, {
    headers: {
      authorization: `Bearer ${token}`,
      ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
    },
    signal: leaving.signal,
  })
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let buffer = ''
  const next = async (): Promise<Sent | null> => {
    for (;;) {
      buffer = buffer.replace(/^\n+/, '')
      const end = buffer.indexOf('\n\n')
      if (end > 0) {
        const whole = buffer.slice(0, end)
        buffer = buffer.slice(end)
        const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(whole)?.[1] ?? ''
        return { event: field('event'), id: field('id'), data: field('data') }
      }
      const chunk = await reader?.read()
      if (chunk === undefined || chunk.done) return null
      buffer += chunk.value
    }
  }
  /** The next event that is no ping. Null at the end of the stream. */
  const event = async (): Promise<Sent | null> => {
    const sent = await next()
    return sent?.event === 'ping' ? event() : sent
  }
  const message = async (): Promise<TailMessage & { id: string }> => {
    const sent = await event()
    if (sent === null || sent.event !== '') throw new Error(`No message, but ${JSON.stringify(sent)}`)
    return { ...(JSON.parse(sent.data) as TailMessage), id: sent.id }
  }
  if (url === adminUrl && response.ok) opened.push(String(response.headers.get('x-request-id')))
  return {
    ...{ status: response.status, headers: response.headers, event, message },
    /** Reads the connection's own event and the first message. */
    async begin() {
      expect(await event()).toMatchObject({ event: 'connected' })
      return message()
    },
    /** Reads messages until one is as wanted, and resolves to all of them. */
    async until(isWanted: (all: readonly TailMessage[]) => boolean) {
      const all = [await message()]
      while (!isWanted(all)) all.push(await message())
      return all
    },
    leave: () => leaving.abort(),
    [Symbol.asyncDispose]: async () => leaving.abort(),
  }
}

type Tail = Awaited<ReturnType<typeof openTail>>

const openMany = (count: number, token: string): Promise<Tail>[] =>
  Array.from({ length: count }, () => openTail({ token }))

/** Reads the first two events of each: whether it is connected, and its first message or why it is refused. */
async function refusalsOf(tails: readonly Tail[]): Promise<string[]> {
  const told = await Promise.all(tails.map(async (tail) => [await tail.event(), await tail.event()]))
  return told.flatMap(([, second]) => (second?.event === 'serialized-error' ? [second.data] : []))
}

const total = (all: readonly TailMessage[]): number =>
  all.flatMap(({ counts }) => counts).reduce((sum, { count }) => sum + count, 0)
const missing = (all: readonly TailMessage[]): number => all.reduce((sum, { skipped }) => sum + (skipped ?? 0), 0)
const idsOf = (all: readonly TailMessage[]) => all.flatMap(({ items }) => items.map(({ eventId }) => eventId))

describe('the tail of events', () => {
  it('shows an event from its receipt to its end, without its body', async () => {
    await using tail = await openTail()
    expect(tail.headers.get('content-type')).toBe('text/event-stream')
    expect(await tail.begin()).toMatchObject({ items: [], counts: [], lagging: false, skipped: 0 })
    const id = randomUUID()
    const memo = `canary-${randomUUID()}`
    await system.deliver({ ...paymentEvent(id, { orderId: await system.order() }), memo })
    const isDone = ({ items }: TailMessage) => items.some(({ eventId, state }) => eventId === id && state === 'done')
    const all = await tail.until((read) => read.some(isDone))
    const [listed] = (await system.operator().events.list.query({ eventId: id })).items
    const [shown] = all.flatMap(({ items }) => items).filter(({ eventId, state }) => eventId === id && state === 'done')
    expect(shown).toEqual(listed)
    expect(all.at(-1)?.counts).toContainEqual({ provider: 'acme', state: 'done', count: expect.any(Number) })
    expect(JSON.stringify(all)).not.toContain(memo)
  })

  it('counts every one of 5,000 events that arrive in a few seconds, and shows the newest', async () => {
    await using tail = await openTail({ input: { provider: 'flood' } })
    await tail.begin()
    const records = Array.from({ length: 5_000 }, () => sampleRecord({ provider: 'flood' }))
    for (let at = 0; at < records.length; at += 250) await system.events.insertMany(records.slice(at, at + 250))
    const all = await tail.until((read) => total(read) + missing(read) >= records.length)
    expect(total(all) + missing(all)).toBe(records.length)
    for (const { items, lagging, skipped } of all) {
      expect(items.length).toBeLessThanOrEqual(50)
      expect(lagging).toBe(skipped !== 0)
    }
    expect(idsOf(all).length).toBeLessThan(records.length)
  })

  it.each(['billing', 'fulfilment'])('shows only tasks of the handler of its filter: %s', async (handler) => {
    const provider = `of-${handler}`
    await using tail = await openTail({ input: { provider, handler } })
    await tail.begin()
    await system.events.insertMany([sampleRecord({ provider, handler: 'search' }), sampleRecord({ provider, handler })])
    const { items } = await tail.message()
    expect(items.map((item) => item.handler)).toEqual([handler])
  })

  it('shows only what its filter allows', async () => {
    await using tail = await openTail({ input: { provider: 'wanted', state: 'dead' } })
    await tail.begin()
    const [other, alive, wanted] = [
      sampleRecord({ provider: 'other', state: 'dead' }),
      sampleRecord({ provider: 'wanted' }),
      sampleRecord({ provider: 'wanted', state: 'dead', reason: 'amount_mismatch' }),
    ]
    await system.events.insertMany([other, alive, wanted])
    const { items, counts } = await tail.message()
    expect(items.map(({ eventId }) => eventId)).toEqual([wanted.eventId])
    expect(counts).toEqual([{ provider: 'wanted', state: 'dead', count: 1 }])
  })

  it('reads one change stream for all readers, and none without readers', async () => {
    const provider = 'shared'
    const tails = await Promise.all(Array.from({ length: 5 }, () => openTail({ input: { provider } })))
    for (const tail of tails) await tail.begin()
    const streams = async () => {
      const operations = await database.client
        .db('admin')
        .aggregate([
          { $currentOp: { idleCursors: true, allUsers: true } },
          { $match: { ns: `${database.name}.events` } },
        ])
        .toArray()
      return operations.filter((one) => JSON.stringify(one).includes('$changeStream')).length
    }
    await expect.poll(streams).toBe(1)
    const record = sampleRecord({ provider })
    await system.events.insertOne(record)
    for (const tail of tails) expect(idsOf([await tail.message()])).toEqual([record.eventId])
    for (const tail of tails) tail.leave()
    await expect.poll(streams).toBe(0)
  })

  it('continues where it was after a reconnect', async () => {
    const provider = 'resumed'
    const first = await openTail({ input: { provider } })
    const { id } = await first.begin()
    first.leave()
    const record = sampleRecord({ provider })
    await system.events.insertOne(record)
    await using again = await openTail({ input: { provider }, lastEventId: id })
    const begun = await again.begin()
    expect(begun.lagging).toBe(false)
    const found = idsOf([begun]).length > 0 ? [begun] : [await again.message()]
    expect(idsOf(found)).toEqual([record.eventId])
    // While others read, it continues from what the process keeps.
    const later = sampleRecord({ provider })
    await using beside = await openTail({ input: { provider } })
    const { id: kept } = await beside.begin()
    beside.leave()
    await system.events.insertOne(later)
    await again.message()
    await using third = await openTail({ input: { provider }, lastEventId: kept })
    expect(idsOf([await third.begin()])).toEqual([later.eventId])
  })

  it.each([
    ['one that is too old', () => `${Date.now() - 61_000}-8200`],
    ['one of another stream', () => `${Date.now()}-${'82'.repeat(20)}`],
    ['any other text', () => 'canary'],
  ])('says that it lags if it cannot continue from an id: %s', async (_, lastEventId) => {
    await using tail = await openTail({ lastEventId: lastEventId() })
    expect(await tail.begin()).toMatchObject({ lagging: true, skipped: null })
    const record = sampleRecord()
    await system.events.insertOne(record)
    expect(idsOf(await tail.until((read) => idsOf(read).includes(record.eventId)))).toContain(record.eventId)
  })

  it('continues after its change stream was killed', async () => {
    await using tail = await openTail({ input: { provider: 'killed' } })
    await tail.begin()
    await system.events.insertOne(sampleRecord({ provider: 'killed' }))
    await tail.message()
    const cursors = await database.client
      .db('admin')
      .aggregate([{ $currentOp: { idleCursors: true, allUsers: true } }, { $match: { ns: `${database.name}.events` } }])
      .toArray()
    const ids = cursors.map(({ cursor }) => cursor?.cursorId).filter((id) => id !== undefined)
    await database.db.command({ killCursors: 'events', cursors: ids })
    const record = sampleRecord({ provider: 'killed' })
    await system.events.insertOne(record)
    expect(idsOf(await tail.until((read) => idsOf(read).includes(record.eventId)))).toContain(record.eventId)
  })
})

describe('a reader of the tail', () => {
  beforeEach(allLeft)

  it('needs a token, and is one of at most 100', async () => {
    expect((await openTail({ token: 'wrong' })).status).toBe(401)
    const tails = await Promise.all(Object.values(crowd).flatMap((token) => openMany(20, token)))
    expect(await refusalsOf(tails)).toEqual([])
    await using late = await openTail()
    expect(await refusalsOf([late])).toEqual([expect.stringContaining('"tail_crowded"')])
    for (const tail of tails) tail.leave()
    await allLeft()
    await using early = await openTail()
    expect(await refusalsOf([early])).toEqual([])
  })

  it('is one of at most 20 of its operator, and the others are not refused', async () => {
    const tails = await Promise.all(openMany(21, system.tokens.operators.alice))
    expect(await refusalsOf(tails)).toEqual([expect.stringContaining('"tail_share_used"')])
    await using other = await openTail({ token: system.tokens.operators.bob })
    expect(await refusalsOf([other])).toEqual([])
    for (const tail of tails) tail.leave()
  })

  it('that is slow loses the oldest changes, learns how many, and continues', async () => {
    const provider = 'heavy'
    await using slow = await openTail({ input: { provider } })
    await using quick = await openTail({ input: { provider } })
    await slow.begin()
    await quick.begin()
    // Together more than the buffers of a connection and what is kept for a reader. Only the quick one reads meanwhile.
    const rounds = 18
    const type = 'wide'.repeat(8_000)
    const read: TailMessage[] = []
    for (let round = 1; round <= rounds; round += 1) {
      await system.events.insertMany(Array.from({ length: 50 }, () => sampleRecord({ provider, type })))
      while (total(read) + missing(read) < round * 50) read.push(await quick.message())
    }
    const late = await slow.until((all) => total(all) + missing(all) >= rounds * 50)
    expect(total(late) + missing(late)).toBe(rounds * 50)
    expect(missing(late)).toBeGreaterThan(0)
    for (const { lagging, skipped } of late) expect(lagging).toBe(skipped !== 0)
    const record = sampleRecord({ provider })
    await system.events.insertOne(record)
    const next = await slow.message()
    expect([idsOf([next]), next.lagging, next.skipped]).toEqual([[record.eventId], false, 0])
  })

  it('is not created by a HEAD request', async () => {
    const head = await system.call('/operator/events.tail', {
      method: 'HEAD',
      headers: { authorization: `Bearer ${system.tokens.operators.alice}` },
    })
    expect(head).toMatchObject({ status: 200, body: '' })
  })

  it('is disconnected in time when its gateway stops', async () => {
    await using other = await testDatabase(process.env)
    const stopping = await startOperatedSystem(other)
    await using tail = await openTail({ url: stopping.gateway.adminUrl })
    await tail.begin()
    expect(await stopping.gateway.close()).toBe(true)
    expect(await tail.event().catch(() => null)).toBeNull()
    await stopping[Symbol.asyncDispose]()
  })

  it.each([
    ['', 0],
    [', also while the clock of the gateway is set back', -3_600_000],
  ])('ends with its session%s, and sees why', async (_, shift) => {
    let [shiftedMs, passedMs] = [0, 0]
    await using other = await testDatabase(process.env)
    await using shifted = await startOperatedSystem(other, {
      clock: { now: () => Date.now() + shiftedMs },
      monotonicMs: () => performance.now() + passedMs,
    })
    const url = shifted.gateway.adminUrl
    const { code } = await shifted.operator().signIn.createCode.mutate({})
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ code }) }
    const { token } = JSON.parse((await shifted.call('/sign-in', init)).body) as { token: string }
    await using tail = await openTail({ url, token })
    await tail.begin()
    await createOperatorClient(url, token).signIn.end.mutate({})
    shiftedMs = shift
    passedMs = 10_000
    await shifted.events.insertOne(sampleRecord())
    const told = await tail.event()
    expect(told?.event).toBe('serialized-error')
    expect(told?.data).toContain('"unauthenticated"')
  })
})
