import { randomBytes, randomUUID } from 'node:crypto'
import { refusalOf } from '@oncehook/fulfilment/testing/fulfilment-client'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { IN_LINE_DUE_AT } from '@oncehook/queue/task'
import { Timestamp } from 'mongodb'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { startHandlerServer } from '../../testing/handlers/handler-server.ts'
import { sampleRecord } from '../../testing/sample-record.ts'
import { paymentEvent, startOperatedSystem } from '../../testing/start-operated-system.ts'
import { REPLAYS } from '../replays/replays.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const server = stack.use(await startHandlerServer())
const notAfter = '2036-11-26T12:00:00.000Z'
const events = [{ types: ['payment.*'] }]
const handler = {
  https: `${server.url}/hook`,
  secrets: [{ id: '1', value: `whsec_${randomBytes(32).toString('base64')}`, notAfter }],
  events,
}
const HANDLERS = JSON.stringify({ billing: handler, search: { ...handler, paused: true } })
const system = stack.use(await startOperatedSystem(database, { settings: { HANDLERS } }))
const operator = system.operator()
const reason = 'its database is being moved'

async function deliver(): Promise<string> {
  const eventId = randomUUID()
  expect(await system.deliver(paymentEvent(eventId, { orderId: await system.order() }))).toBe(200)
  return eventId
}

async function states(eventId: string): Promise<Record<string, string>> {
  const { items } = await operator.events.list.query({ eventId })
  return Object.fromEntries(items.map(({ handler: name = 'fulfilment', state }) => [name, state]))
}

async function gauge(name: string, handler: string): Promise<string | undefined> {
  const text = await (await fetch(`${system.gateway.adminUrl}/metrics`)).text()
  return new RegExp(`^${name}\\{handler="${handler}"\\} (\\d)`, 'm').exec(text)?.[1]
}

/** The tasks of an event that a handler was sent. */
function sent(eventId: string): { eventId: string; body: unknown }[] {
  return server.received.map(({ body }) => JSON.parse(body)).filter((task) => task.eventId === eventId)
}

const find = async (name: string) => (await operator.handlers.list.query()).find((one) => one.name === name)

describe('the operator API', () => {
  beforeEach(async () => {
    await system.events.deleteMany()
  })

  it('lists fulfilment and the handlers with their tasks', async () => {
    const eventId = await deliver()
    await expect.poll(() => states(eventId)).toEqual({ fulfilment: 'done', billing: 'done', search: 'pending' })
    const listed = await operator.handlers.list.query()
    expect(listed).toMatchObject([
      { name: 'fulfilment', by: 'built in', host: null, events: [], paused: null, pending: 0, dead: 0 },
      { name: 'billing', by: 'https', host: new URL(server.url).host, pausedBySetting: false, pending: 0 },
      { name: 'search', pausedBySetting: true, paused: null, pending: 1, answers: true },
    ])
    const [, billing, search] = listed
    expect(billing).toMatchObject({
      ...{ events, answers: true, oldestStoredAt: null },
      secrets: [{ id: '1', notAfter }],
    })
    expect(Math.abs(Date.parse(String(search?.oldestStoredAt)) - Date.now())).toBeLessThan(60_000)
    expect(JSON.stringify(listed)).not.toContain('whsec_')
  })

  it('pauses and resumes a handler, and nothing else', async () => {
    await operator.handlers.pause.mutate({ handler: 'billing', reason })
    expect((await find('billing'))?.paused).toMatchObject({ by: expect.any(String), reason })
    const names = ['fulfilment', 'billing', 'search']
    // Those who ask within the same second get the same metrics.
    await expect
      .poll(() => Promise.all(names.map((name) => gauge('oncehook_handler_paused', name))))
      .toEqual(['0', '1', '1'])
    expect(await operator.overview.query()).toMatchObject({ pausedHandlers: ['billing', 'search'] })
    expect(await refusalOf(operator.handlers.pause.mutate({ handler: 'billing', reason }))).toMatchObject({
      reason: 'handler_paused',
    })
    await expect.poll(async () => states(await deliver()), { interval: 1_000 }).toMatchObject({ billing: 'pending' })
    const eventId = await deliver()
    await expect.poll(() => states(eventId)).toMatchObject({ fulfilment: 'done', billing: 'pending' })
    await operator.handlers.resume.mutate({ handler: 'billing', reason })
    await expect.poll(() => states(eventId)).toMatchObject({ billing: 'done' })
    expect(await refusalOf(operator.handlers.resume.mutate({ handler: 'billing', reason }))).toMatchObject({
      reason: 'handler_not_paused',
    })
    const { items } = await operator.audit.list.query({ limit: 4 })
    expect(items.map(({ action, details }) => [action, details.handler])).toEqual([
      ['handlers.resume', 'billing'],
      ['handlers.resume', 'billing'],
      ['handlers.pause', 'billing'],
      ['handlers.pause', 'billing'],
    ])
  })

  it('pauses fulfilment too, but no handler that does not exist', async () => {
    await operator.handlers.pause.mutate({ handler: 'fulfilment', reason })
    await expect.poll(async () => states(await deliver()), { interval: 1_000 }).toMatchObject({ fulfilment: 'pending' })
    await operator.handlers.resume.mutate({ handler: 'fulfilment', reason })
    const eventId = await deliver()
    await expect.poll(() => states(eventId)).toMatchObject({ fulfilment: 'done' })
    expect(await refusalOf(operator.handlers.pause.mutate({ handler: 'nobody', reason }))).toMatchObject({
      reason: 'not_found',
    })
  })

  it('says that a handler does not answer, until it does', async () => {
    server.answer = () => ({ status: 503 })
    const eventIds = [await deliver(), await deliver(), await deliver()]
    await expect.poll(() => find('billing')).toMatchObject({ answers: false })
    await expect.poll(() => gauge('oncehook_handler_answers', 'billing')).toBe('0')
    server.answer = () => ({ status: 200 })
    for (const eventId of eventIds) await expect.poll(() => states(eventId)).toMatchObject({ billing: 'done' })
    expect(await find('billing')).toMatchObject({ answers: true })
    await expect.poll(() => gauge('oncehook_handler_answers', 'billing')).toBe('1')
  })

  it('replays the dead task of one handler only', async () => {
    server.answer = () => ({ status: 422 })
    const eventId = await deliver()
    await expect.poll(() => states(eventId)).toMatchObject({ fulfilment: 'done', billing: 'dead' })
    const before = sent(eventId).length
    server.answer = () => ({ status: 200 })
    await operator.events.replay.mutate({ filter: { handler: 'billing', state: 'dead' }, reason })
    await expect.poll(() => states(eventId)).toMatchObject({ billing: 'done' })
    expect(sent(eventId)).toHaveLength(before + 1)
    const records = await system.events.find({ eventId }).toArray()
    const replayed = records.filter(({ replays = [] }) => replays.length > 0).map((record) => record.handler)
    expect(replayed).toEqual(['billing'])
  })

  it('gives a handler the events that were stored before it wanted them, once', async () => {
    const eventId = await deliver()
    await expect.poll(() => states(eventId)).toMatchObject({ billing: 'done', fulfilment: 'done' })
    // As if the event had come before the handler was configured.
    const { deletedCount } = await system.events.deleteMany({ eventId, handler: 'billing' })
    expect(deletedCount).toBe(1)
    const before = sent(eventId).length
    const meant = { handler: 'billing', filter: { eventId, provider: 'acme' }, reason: 'a new handler' }
    expect(await operator.handlers.backfill.mutate({ ...meant, dryRun: true })).toEqual({ replayId: null, matched: 2 })
    for (let times = 0; times < 2; times += 1) {
      const { replayId } = await operator.handlers.backfill.mutate(meant)
      const progress = () => operator.replays.get.query({ replayId: replayId ?? '' })
      await expect.poll(progress).toMatchObject({ state: 'finished' })
      await expect.poll(() => states(eventId)).toMatchObject({ billing: 'done' })
    }
    expect(sent(eventId)).toHaveLength(before + 1)
    expect(sent(eventId).at(-1)).toMatchObject({ body: { id: eventId } })
    expect(await system.events.countDocuments({ eventId })).toBe(3)
  })

  it('gives fulfilment an event that only handlers have, and no name that is not a handler', async () => {
    const eventId = await deliver()
    await expect.poll(() => states(eventId)).toMatchObject({ billing: 'done', fulfilment: 'done' })
    // As if effects of the provider had not been permitted when the event came.
    await system.events.deleteMany({ eventId, handler: 'fulfilment' })
    const before = sent(eventId).length
    const meant = { handler: 'fulfilment', filter: { eventId, provider: 'acme' }, reason: 'effects are permitted now' }
    await operator.handlers.backfill.mutate(meant)
    await expect.poll(() => states(eventId)).toMatchObject({ fulfilment: 'done' })
    expect(sent(eventId)).toHaveLength(before)
    expect(await refusalOf(operator.handlers.backfill.mutate({ ...meant, handler: 'nobody' }))).toMatchObject({
      reason: 'not_found',
    })
  })

  it('makes the next task of a line due at once when it closes the dead one that blocked it', async () => {
    // Nobody sweeps the lines of a handler that is not configured.
    const inLine = { handler: 'ordered', line: 'a' }
    const dead = sampleRecord({ ...inLine, state: 'dead', lineAt: new Timestamp({ t: 1, i: 1 }) })
    const waiting = { ...inLine, state: 'pending', dueAt: IN_LINE_DUE_AT } as const
    const next = sampleRecord({ ...waiting, lineAt: new Timestamp({ t: 1, i: 2 }) })
    const last = sampleRecord({ ...waiting, lineAt: new Timestamp({ t: 1, i: 3 }) })
    await system.events.insertMany([dead, next, last])
    await operator.events.close.mutate({ id: String(dead._id), reason })
    expect((await system.record(next.eventId)).dueAt?.getTime()).toBeLessThan(IN_LINE_DUE_AT.getTime())
    expect((await system.record(last.eventId)).dueAt).toEqual(IN_LINE_DUE_AT)
  })

  it('says of a task for which one it waits in line, and whether its handler is sent any', async () => {
    const inLine = { line: 'a', state: 'pending', dueAt: IN_LINE_DUE_AT } as const
    const lineAt = (i: number) => new Timestamp({ t: 1, i })
    const [first, next, paused, other] = [
      sampleRecord({ ...inLine, handler: 'ordered', lineAt: lineAt(1) }),
      sampleRecord({ ...inLine, handler: 'ordered', lineAt: lineAt(2) }),
      sampleRecord({ handler: 'search', state: 'pending' }),
      sampleRecord({ handler: 'search', state: 'done' }),
    ] as const
    await system.events.insertMany([first, next, paused, other])
    const waiting = async ({ _id }: { readonly _id: unknown }) => {
      const { waitsFor, notSent, dueAt } = await operator.events.get.query({ id: String(_id) })
      return { waitsFor, notSent, dueAt }
    }
    const removed = { notSent: 'handler_removed', dueAt: null }
    expect(await waiting(first)).toEqual({ waitsFor: null, ...removed })
    expect(await waiting(next)).toEqual({ waitsFor: String(first._id), ...removed })
    expect(await waiting(paused)).toEqual({ waitsFor: null, notSent: 'handler_paused', dueAt: null })
    expect(await waiting(other)).toEqual({ waitsFor: null, notSent: null, dueAt: null })
  })

  it('discards the tasks of a removed handler, so that its events can be erased', async () => {
    const eventId = await deliver()
    await expect.poll(() => states(eventId)).toMatchObject({ billing: 'done', fulfilment: 'done' })
    // As if the handler had been removed since.
    await system.events.updateMany({ eventId, handler: 'search' }, { $set: { handler: 'removed' } })
    const erase = () => operator.erase.mutate({ provider: 'acme', eventId, reason })
    expect(await refusalOf(erase())).toMatchObject({ reason: 'erase_unsettled' })
    expect(await find('removed')).toMatchObject({ by: 'removed', host: null, events: [], answers: null, pending: 1 })
    const discarded = await operator.handlers.discard.mutate({ handler: 'removed', reason })
    expect(discarded).toEqual({ handler: 'removed', discarded: 1, more: false, held: 0 })
    expect(await states(eventId)).toMatchObject({ removed: 'unhandled' })
    expect(await find('removed')).toBeUndefined()
    // No erasure is beside a backfill: as if those of the other tests had ended long ago.
    await system.db.collection(REPLAYS).updateMany({}, { $set: { finishedAt: new Date(0) } })
    expect(await erase()).toMatchObject({ erased: 3 })
    for (const handler of ['search', 'fulfilment']) {
      expect(await refusalOf(operator.handlers.discard.mutate({ handler, reason }))).toMatchObject({
        reason: 'handler_configured',
      })
    }
    const { items } = await operator.audit.list.query({ limit: 4 })
    expect(items.filter(({ action }) => action === 'handlers.discard').map(({ details }) => details)).toEqual([
      { handler: 'fulfilment', refused: 'handler_configured' },
      { handler: 'search', refused: 'handler_configured' },
      { handler: 'removed' },
    ])
  })
})
