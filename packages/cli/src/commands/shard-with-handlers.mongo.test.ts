import { randomBytes, randomUUID } from 'node:crypto'
import { startHandlerServer } from '@oncehook/gateway/testing/handlers/handler-server'
import { startOperatedSystem } from '@oncehook/gateway/testing/start-operated-system'
import { Secret } from '@oncehook/kernel/secret'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { expect, it } from 'vitest'
import { startFakeMongos } from '../testing/fake-mongos.ts'
import { runCommand } from '../testing/run-command.ts'

const LINES = 5
const EVENTS_OF_A_LINE = 15
const SECRET = `whsec_${randomBytes(24).toString('base64')}`

it('shards events for handlers that are set afterwards: each task is called once, and those of a line in order', async () => {
  await using mongod = await testDatabase(process.env)
  await using mongos = await startFakeMongos(Number(new URL(mongod.uri.reveal()).port))
  const database = { ...mongod, uri: new Secret(mongos.uri) }
  // It makes the collections.
  await (await startOperatedSystem(database))[Symbol.asyncDispose]()
  const env: Record<string, string> = {
    ...{ MONGODB_URI: mongos.uri, GATEWAY_DB: mongod.name, FULFILMENT_DB: `${mongod.name}_fulfilment` },
  }
  const { stdout } = await runCommand(['shard', '--apply', '--json'], { readEnv: (name) => env[name] })
  const { steps } = JSON.parse(stdout) as { steps: { collection: string; state: string }[] }
  const ofEvents = steps.filter(({ collection }) => collection === 'events')
  expect(new Set(ofEvents.map(({ state }) => state))).toEqual(new Set(['done']))

  await using server = await startHandlerServer()
  const wanted = {
    https: server.url,
    secrets: [{ id: 'one', value: SECRET }],
    events: [{ provider: 'acme', types: ['invoice.paid'] }],
  }
  const handlers = { billing: { ...wanted, orderBy: '/data/object/id' }, mail: wanted }
  await using system = await startOperatedSystem(database, { settings: { HANDLERS: JSON.stringify(handlers) } })
  const delivered: { readonly id: string; readonly line: string }[] = []
  const lines = Array.from({ length: LINES }, (_, index) => `line_${index}`)
  const load = async (line: string): Promise<void> => {
    for (let count = 0; count < EVENTS_OF_A_LINE; count += 1) {
      const id = randomUUID()
      const created = Math.floor(Date.now() / 1_000)
      const event = { id, type: 'invoice.paid', created, livemode: true, data: { object: { id: line } } }
      expect([await system.deliver(event), await system.deliver(event)]).toEqual([200, 200])
      delivered.push({ id, line })
    }
  }
  await Promise.all(lines.map(load))

  const tasks = { handler: { $in: ['billing', 'mail'] } }
  await expect.poll(() => system.events.countDocuments({ ...tasks, state: 'done' })).toBe(2 * delivered.length)
  expect(await system.events.countDocuments(tasks)).toBe(2 * delivered.length)
  const called = server.received.map(({ headers }) => String(headers['webhook-id']))
  expect(called).toHaveLength(2 * delivered.length)
  expect(new Set(called).size).toBe(2 * delivered.length)
  for (const line of lines) {
    const sent = delivered.filter((one) => one.line === line).map(({ id }) => `acme:${id}:billing`)
    expect(called.filter((key) => sent.includes(key))).toEqual(sent)
  }
}, 120_000)
