import { randomUUID } from 'node:crypto'
import { paymentEvent, startOperatedSystem } from '@oncehook/gateway/testing/start-operated-system'
import { Secret } from '@oncehook/kernel/secret'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { expect, it } from 'vitest'
import { startFakeMongos } from '../testing/fake-mongos.ts'
import { runCommand } from '../testing/run-command.ts'

const HOUR_MS = 3_600_000
const MOST_EVENTS = 200

it('shards events while the services run: each event is stored once and has its effect, also after a restart', async () => {
  await using mongod = await testDatabase(process.env)
  await using mongos = await startFakeMongos(Number(new URL(mongod.uri.reveal()).port))
  const database = { ...mongod, uri: new Secret(mongos.uri) }
  const settings: Record<string, string> = {
    ...{ MONGODB_URI: mongos.uri, GATEWAY_DB: mongod.name, FULFILMENT_DB: `${mongod.name}_fulfilment` },
  }
  const bodies = new Map<string, object>()
  {
    await using system = await startOperatedSystem(database)
    const deliverNew = async (): Promise<void> => {
      const id = randomUUID()
      const body = paymentEvent(id, { orderId: await system.order() })
      bodies.set(id, body)
      expect(await system.deliver(body)).toBe(200)
    }
    for (let count = 0; count < 20; count += 1) await deliverNew()
    const old = [...bodies.keys()]
    for (const id of old) await system.until(id, ({ state }) => state === 'done')
    // As release 0.1.0 stored them.
    const past = new Date(Date.now() - HOUR_MS)
    await system.events.updateMany({}, { $unset: { slot: '' }, $set: { receivedAt: past } })

    let isDone = false
    const load = async (): Promise<void> => {
      while (!isDone && bodies.size < MOST_EVENTS) await deliverNew()
    }
    const applied = runCommand(['shard', '--apply', '--json'], { readEnv: (name) => settings[name] }).finally(() => {
      isDone = true
    })
    await Promise.all([load(), load(), applied])
    const { steps } = JSON.parse((await applied).stdout) as { steps: { collection: string; state: string }[] }
    const ofEvents = steps.filter(({ collection }) => collection === 'events')
    expect(ofEvents.map(({ state }) => state)).toEqual(Array(6).fill('done'))

    for (const body of bodies.values()) expect(await system.deliver(body)).toBe(200)
    for (const id of bodies.keys()) {
      await system.until(id, ({ state, deliveries }) => state === 'done' && deliveries === 2)
    }
    expect(await system.events.countDocuments()).toBe(bodies.size)
    expect(await system.events.countDocuments({ slot: { $exists: true } })).toBe(bodies.size)
  }
  await using restarted = await startOperatedSystem(database)
  const [[id, body] = ['', {}]] = bodies
  expect(await restarted.deliver(body)).toBe(200)
  await restarted.until(id, ({ deliveries }) => deliveries === 3)
  expect(await restarted.events.countDocuments()).toBe(bodies.size)
  const next = randomUUID()
  expect(await restarted.deliver(paymentEvent(next, { orderId: await restarted.order() }))).toBe(200)
  await restarted.until(next, ({ state }) => state === 'done')
}, 120_000)
