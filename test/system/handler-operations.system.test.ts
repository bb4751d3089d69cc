import { randomBytes, randomUUID } from 'node:crypto'
import { startHandlerServer } from '@oncehook/gateway/testing/handlers/handler-server'
import { openHandlersFile } from '@oncehook/gateway/testing/handlers/handlers-file'
import { paymentEvent, startOperatedSystem } from '@oncehook/gateway/testing/start-operated-system'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, describe, expect, it } from 'vitest'
import { runCommand } from '../../packages/cli/src/testing/run-command.ts'

const resources = new AsyncDisposableStack()
afterAll(() => resources.disposeAsync())
const database = resources.use(await testDatabase(process.env))
const server = resources.use(await startHandlerServer())
const { folder, path: HANDLERS_FILE, write } = resources.use(await openHandlersFile())
const secrets = [{ id: '1', value: `whsec_${randomBytes(32).toString('base64')}` }]

const names = new Set(['billing', 'search', 'stock'])

/** Writes the setting: each handler wants every payment. */
function configure(): Promise<void> {
  const handler = (name: string) => ({ https: `${server.url}/${name}`, secrets, events: [{ types: ['payment.*'] }] })
  return write(Object.fromEntries([...names].map((name) => [name, handler(name)])))
}

await configure()
const system = resources.use(await startOperatedSystem(database, { settings: { HANDLERS_FILE } }))

/** Runs the command line. */
async function oncehook(...args: string[]) {
  const context = { operatorToken: system.tokens.operators.alice, dataFolder: folder }
  const { exitCode: code, ...printed } = await runCommand([...args, '--admin-url', system.gateway.adminUrl], context)
  expect(printed.stdout + printed.stderr).not.toContain('whsec_')
  return { code, ...printed }
}

/** The output of a command that must succeed. */
async function said(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await oncehook(...args)
  expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: '' })
  return stdout
}

const operator = system.operator()
const find = async (name: string) => (await operator.handlers.list.query()).find((handler) => handler.name === name)

async function deliver(): Promise<string> {
  const eventId = `evt_${randomUUID()}`
  expect(await system.deliver(paymentEvent(eventId, { orderId: await system.order() }))).toBe(200)
  return eventId
}

/** The state of the event for each of these handlers. */
async function states(eventId: string, ...handlers: string[]): Promise<Record<string, string>> {
  const records = await system.events.find({ eventId }).toArray()
  const all = records.map(({ handler, state }) => [handler, state] as const)
  return Object.fromEntries(all.filter(([handler]) => handlers.includes(handler)))
}

const callsOf = (handler: string, eventId: string) =>
  server.received.filter(({ headers }) => headers['webhook-id'] === `acme:${eventId}:${handler}`).length

const reason = ['--reason', 'for the test']
const ALL = ['fulfilment', 'billing', 'search']
const ALL_DONE = { fulfilment: 'done', billing: 'done', search: 'done' }

describe('the command line', () => {
  it('lists handlers, pauses one and resumes it', async () => {
    expect(await said('handlers', 'pause', 'search', ...reason)).toContain('Paused: tasks of search are stored')
    const shown = await said('handlers', 'list')
    expect(shown).toMatch(/fulfilment .*built in/)
    expect(shown).toMatch(/billing .*https .*127\.0\.0\.1:\d+ .*sent/)
    expect(shown).toMatch(/search .*paused/)
    expect(shown).toMatch(/search .*alice .*for the test/)
    // The dispatcher learns of the pause within two seconds.
    const waits = async () => states(await deliver(), 'search')
    await expect.poll(waits, { interval: 1_000 }).toEqual({ search: 'pending' })
    const eventId = await deliver()
    await expect.poll(() => states(eventId, ...ALL)).toEqual({ ...ALL_DONE, search: 'pending' })
    expect((await oncehook('handlers', 'pause', 'search', ...reason)).code).toBe(1)
    expect(await said('handlers', 'resume', 'search', ...reason)).toContain('Resumed')
    await expect.poll(() => states(eventId, ...ALL)).toEqual(ALL_DONE)
    expect(callsOf('search', eventId)).toBe(1)
  })

  it('finds the dead tasks of one handler, and replays only these', async () => {
    server.answer = ({ path }) => ({ status: path === '/billing' ? 422 : 204 })
    const eventId = await deliver()
    await expect.poll(() => states(eventId, ...ALL)).toEqual({ ...ALL_DONE, billing: 'dead' })
    server.answer = () => ({ status: 204 })
    const dead = ['--handler', 'billing', '--state', 'dead']
    const { items } = JSON.parse(await said('events', 'list', ...dead, '--json'))
    expect(items).toMatchObject([{ eventId, handler: 'billing', reason: 'handler_refused' }])
    expect(await said('events', 'replay', ...dead, ...reason)).toContain('1 settled, 0 dead again')
    expect(await states(eventId, ...ALL)).toEqual(ALL_DONE)
    expect(['billing', 'search'].map((handler) => callsOf(handler, eventId))).toEqual([2, 1])
  })

  it('gives a handler that was added later the past, once, after a count that changes nothing', async () => {
    const eventIds = [await deliver(), await deliver()]
    for (const eventId of eventIds) await expect.poll(() => states(eventId, ...ALL)).toEqual(ALL_DONE)
    names.add('late')
    await configure()
    await expect.poll(() => find('late')).toMatchObject({ by: 'https', pending: 0 })
    const backfill = ['handlers', 'backfill', 'late', '--from', '1d']
    expect(await said(...backfill, '--dry-run')).toMatch(
      /^[1-9]\d* stored records are examined: .*; nothing was changed/,
    )
    expect(await system.events.countDocuments({ handler: 'late' })).toBe(0)
    for (let times = 0; times < 2; times += 1) {
      const { replayId } = JSON.parse(await said(...backfill, '--rate', '1000', ...reason, '--json'))
      const progress = () => operator.replays.get.query({ replayId })
      await expect.poll(progress).toMatchObject({ state: 'finished' })
    }
    for (const eventId of eventIds) {
      await expect.poll(() => states(eventId, ...ALL, 'late')).toEqual({ ...ALL_DONE, late: 'done' })
      expect(callsOf('late', eventId)).toBe(1)
    }
  })

  it('discards the tasks of a handler only after it was removed from the setting', async () => {
    server.answer = ({ path }) => ({ status: path === '/stock' ? 422 : 204 })
    const eventId = await deliver()
    await expect.poll(() => states(eventId, 'billing', 'stock')).toEqual({ billing: 'done', stock: 'dead' })
    server.answer = () => ({ status: 204 })
    const discard = () => oncehook('handlers', 'discard', 'stock', ...reason)
    expect(await discard()).toMatchObject({ code: 1, stderr: expect.stringContaining('The handler is configured') })
    expect(await states(eventId, 'stock')).toEqual({ stock: 'dead' })
    names.delete('stock')
    await configure()
    await expect.poll(() => find('stock')).toMatchObject({ by: 'removed', dead: 1 })
    expect(await said('handlers', 'list')).toMatch(/stock .*not sent: removed/)
    expect(await discard()).toMatchObject({ code: 0, stdout: 'Discarded 1 tasks of stock\n' })
    expect(await states(eventId, 'stock')).toEqual({ stock: 'unhandled' })
    expect(await discard()).toMatchObject({ code: 0, stdout: 'Discarded 0 tasks of stock\n' })
    expect(await find('stock')).toBeUndefined()
  })

  it('says that no handler has a name, and that a reason is needed', async () => {
    const unknown = await oncehook('handlers', 'pause', 'nobody', ...reason)
    expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('No handler has this name') })
    const silent = await oncehook('handlers', 'backfill', 'billing')
    expect(silent).toMatchObject({ code: 2, stderr: expect.stringContaining('--reason') })
  })
})
