import { createHmac, randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestDatabase, testDatabase } from '@oncehook/kernel/testing/test-database'
import { EVENTS } from '@oncehook/queue/task'
import { afterAll, describe, it } from 'vitest'
import type { EventDocument } from '../inbox/event-document.ts'
import { NO_BODY } from '../inbox/evidence-encryption.ts'
import { createFakeFulfilment } from '../testing/fake-fulfilment.ts'
import { type HandlerServer, startHandlerServer } from '../testing/handlers/handler-server.ts'
import { hmacProvider } from '../testing/hmac-provider.ts'
import { serveFake } from '../testing/serve-fake.ts'
import { type RunningGateway, startGateway } from '../testing/start-gateway.ts'

const PROVIDER_SECRET = randomBytes(20).toString('hex')
const SECRET = `whsec_${randomBytes(32).toString('base64')}`
const providers = { shop: hmacProvider({ id: 'only', value: PROVIDER_SECRET }) }
const ALL = [{ types: ['*'] }]

const byHttps = (server: Pick<HandlerServer, 'url'>, members: object = {}) => ({
  ...{ https: `${server.url}/hook`, secrets: [{ id: '1', value: SECRET }], events: ALL },
  ...members,
})

interface Started extends AsyncDisposable {
  readonly gateway: RunningGateway
  readonly database: TestDatabase
  /** Delivers an event, and returns its id and the status of the answer. */
  deliver(type: string, members?: object): Promise<{ readonly id: string; readonly status: number }>
  /** Handler -> state, of all tasks of an event. */
  states(eventId: string): Promise<Record<string, string>>
  records(eventId: string): Promise<EventDocument[]>
}

async function start(handlers: object | { readonly file: string }, settings: object = {}): Promise<Started> {
  await using stack = new AsyncDisposableStack()
  const database = stack.use(await testDatabase(process.env))
  const fulfilment = stack.use(await serveFake(createFakeFulfilment([['ord_1', 1]])))
  const setting = 'file' in handlers ? { HANDLERS_FILE: String(handlers.file) } : { HANDLERS: JSON.stringify(handlers) }
  const gateway = stack.use(
    await startGateway({
      ...{ database, providers, fulfilmentUrl: fulfilment.url },
      settings: { RETRY_BASE_MS: '20', RETRY_CAP_MS: '100', ...setting, ...settings },
    }),
  )
  const events = database.db.collection<EventDocument>(EVENTS)
  const owned = stack.move()
  const records = (eventId: string) => events.find({ eventId }).sort({ handler: 1 }).toArray()
  return {
    ...{ gateway, database, records },
    async deliver(type, members = {}) {
      const id = `evt_${randomUUID()}`
      const data = { object: { id: 'obj_1', order_id: 'ord_1' } }
      const body = JSON.stringify({ id, type, data, ...members })
      const signature = createHmac('sha256', PROVIDER_SECRET).update(body).digest('hex')
      const headers = { 'content-type': 'application/json', 'x-signature': signature }
      const { status } = await fetch(`${gateway.url}/api/webhooks/shop`, { method: 'POST', headers, body })
      return { id, status }
    },
    async states(eventId) {
      const found = await records(eventId)
      return Object.fromEntries(found.map(({ handler, state }) => [handler, state]))
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const NAMES = ['lined', 'bare'] as const
type Name = (typeof NAMES)[number]
const opened = await Promise.all(NAMES.map(async (name) => [name, stack.use(await startHandlerServer())] as const))
const servers = Object.fromEntries(opened) as unknown as Readonly<Record<Name, HandlerServer>>
const ORDER_BY = '/data/object/id'
/** Of the test with this name: it gets the events whose types begin with it. */
const own = (name: Name, members: object = {}) => ({
  [name]: byHttps(servers[name], { events: [{ types: [`${name}.*`] }], ...members }),
})
/** For the tests that need no gateway of their own. */
const shared = stack.use(await start({ ...own('bare'), ...own('lined', { orderBy: ORDER_BY, concurrency: 16 }) }))
// Each has its own handler, and most of its time is waiting.
describe.concurrent('a handler that is called by https', () => {
  it('gets the tasks with the same value one after the other, in their order, and the next one at once', async ({
    expect,
  }) => {
    const server = servers.lined
    server.answer = () => ({ status: server.received.length === 1 ? 500 : 204 })
    const sent: string[] = []
    for (let index = 0; index < 5; index += 1) sent.push((await shared.deliver('lined.paid')).id)
    const handled = () => server.received.map(({ body }) => JSON.parse(body).eventId)
    await expect.poll(handled).toEqual([sent[0], ...sent])
    for (const id of sent) await expect.poll(() => shared.states(id)).toEqual({ lined: 'done' })
  })

  it('FP-43: decides about its own task only: of several, one is done, one dead, one tried again', async ({
    expect,
  }) => {
    await using server = await startHandlerServer()
    server.answer = ({ path }) => ({ status: { '/done': 200, '/dead': 422, '/later': 500 }[path] ?? 404 })
    const at = (path: string) => byHttps(server, { https: `${server.url}${path}` })
    await using system = await start({ done: at('/done'), dead: at('/dead'), later: at('/later') })
    const { id, status } = await system.deliver('payment.succeeded')
    expect(status).toBe(200)
    const expected = { fulfilment: 'done', done: 'done', dead: 'dead' }
    await expect.poll(() => system.states(id)).toMatchObject(expected)
    await expect.poll(() => server.received.filter(({ path }) => path === '/later').length).toBeGreaterThan(3)
    expect(server.received.filter(({ path }) => path === '/done')).toHaveLength(1)
    const dead = (await system.records(id)).find(({ handler }) => handler === 'dead')
    expect(dead).toMatchObject({ reason: 'handler_refused', attempts: [{ message: 'The handler answered 422' }] })
  })

  it('FP-43: holds up no other while it is down or hangs, and gets its tasks when it is back', async ({ expect }) => {
    await using healthy = await startHandlerServer()
    await using hanging = await startHandlerServer()
    hanging.answer = () => 'hang'
    const down = await startHandlerServer()
    await down[Symbol.asyncDispose]()
    await using system = await start({
      healthy: byHttps(healthy),
      hanging: byHttps(hanging, { timeoutMs: 1_000 }),
      down: byHttps(down),
    })
    const ids = await Promise.all(Array.from({ length: 20 }, () => system.deliver('payment.succeeded')))
    expect(new Set(ids.map(({ status }) => status))).toEqual(new Set([200]))
    await expect.poll(() => healthy.received.length).toBe(20)
    await expect
      .poll(() => system.gateway.logs.filter(({ msg }) => msg === 'handler.unreachable').length)
      .toBeGreaterThan(0)
    await using back = await startHandlerServer(Number(new URL(down.url).port))
    await expect.poll(() => new Set(back.received.map(({ headers }) => headers['webhook-id'])).size).toBe(20)
    hanging.answer = () => ({ status: 200 })
    for (const { id } of ids) {
      const done = { fulfilment: 'done', healthy: 'done', hanging: 'done', down: 'done' }
      await expect.poll(() => system.states(id)).toEqual(done)
    }
    expect(healthy.received).toHaveLength(20)
  })

  it('gets no task whose body is gone: a redelivery revives it, and it is dead again and says why', async ({
    expect,
  }) => {
    const server = servers.bare
    server.answer = () => ({ status: 410 })
    const { id } = await shared.deliver('bare.paid')
    await expect.poll(() => shared.states(id)).toEqual({ bare: 'dead' })
    await shared.database.db.collection(EVENTS).updateOne({ eventId: id }, { $set: { raw: NO_BODY } })
    await shared.deliver('bare.paid', { id })
    const reason = async () => (await shared.records(id)).map(({ state, reason }) => [state, reason])
    await expect.poll(reason).toEqual([['dead', 'body_missing']])
    const [record] = await shared.records(id)
    expect(record).toMatchObject({ again: { revivals: 1 } })
    expect(record?.attempts.at(-1)).toMatchObject({ code: 'body_missing' })
    expect(server.received).toHaveLength(1)
  })
})

describe.concurrent('the setting HANDLERS', () => {
  it('follows its file. A wrong file leaves the old handlers in force', async ({ expect }) => {
    const folder = await mkdtemp(join(tmpdir(), 'oncehook-handlers-'))
    await using stack = new AsyncDisposableStack()
    stack.defer(() => rm(folder, { recursive: true }))
    const file = join(folder, 'handlers.json')
    await writeFile(file, '{}')
    const server = stack.use(await startHandlerServer())
    const system = stack.use(await start({ file }))
    const logged = (name: string) => () => system.gateway.logs.filter(({ msg }) => msg === name).length
    const before = await system.deliver('invoice.paid')
    expect(await system.states(before.id)).toEqual({ '': 'unhandled' })
    await writeFile(file, JSON.stringify({ billing: byHttps(server) }))
    await expect.poll(logged('handlers.changed')).toBe(1)
    const after = await system.deliver('invoice.paid')
    await expect.poll(() => system.states(after.id)).toEqual({ billing: 'done' })
    await writeFile(file, '{"billing":{}}')
    await expect.poll(logged('handlers.refused')).toBe(1)
    const still = await system.deliver('invoice.paid')
    await expect.poll(() => system.states(still.id)).toEqual({ billing: 'done' })
    await writeFile(file, '{}')
    await expect.poll(logged('handlers.changed')).toBe(2)
    const last = await system.deliver('invoice.paid')
    expect(await system.states(last.id)).toEqual({ '': 'unhandled' })
  })
})
