import { createHmac, randomUUID } from 'node:crypto'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { newServiceKeyPair } from '@oncehook/kernel/testing/service-key-pair'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { systemClock } from '@oncehook/kernel/time/clock'
import { Lifecycle } from '@oncehook/kernel/time/lifecycle'
import { EVENTS } from '@oncehook/queue/task'
import { describe, expect, it, vi } from 'vitest'
import { hmacProvider } from '../testing/hmac-provider.ts'
import { createDispatching } from './dispatching.ts'
import { startGateway, startInbox } from './gateway.ts'
import { createContext } from './gateway-context.ts'
import { startAdmin } from './private-listener.ts'
import { startPublicListener } from './public-listener.ts'
import { readGatewaySettings } from './settings.ts'

const SECRET = 'canary-secret-of-a-provider-in-a-test'
const PROVIDERS = { acme: hmacProvider({ id: 'only', value: SECRET }) }

/** The parts of a gateway with its own database. It stops at the end of the scope. */
async function prepare() {
  await using resources = new AsyncDisposableStack()
  const database = resources.use(await testDatabase(process.env))
  const { logger, lines } = memoryLogger()
  const lifecycle = new Lifecycle(logger)
  resources.defer(async () => void (await lifecycle.stop()))
  const settings = readGatewaySettings({
    ...{ GATEWAY_PORT: '0', ADMIN_PORT: '0', GATEWAY_DB: database.name, MONGODB_URI: database.uri.reveal() },
    SERVICE_PRIVATE_KEY: newServiceKeyPair().privateKey,
    PROVIDERS: JSON.stringify(PROVIDERS),
  })
  const deps = { settings, logger, clock: systemClock, random: Math.random, fetch: globalThis.fetch }
  const owned = resources.move()
  return { database, lifecycle, lines, deps, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** Starts only the parts of a gateway that accept deliveries. */
async function openListener({ deps, lifecycle }: Awaited<ReturnType<typeof prepare>>) {
  const context = createContext(deps, lifecycle)
  await context.mongo.accepting.open()
  const listener = await startPublicListener(context, {
    inbox: startInbox(context, createDispatching(context)).inbox,
    findWanting: undefined,
    recordChange: () => undefined,
  })
  return { listener, context, url: `http://127.0.0.1:${listener.port}` }
}

async function deliver(url: string): Promise<number> {
  const body = JSON.stringify({ id: randomUUID(), type: 'payment.succeeded', data: { object: { id: 'pay_1' } } })
  const signature = createHmac('sha256', SECRET).update(body).digest('hex')
  const headers = { 'x-signature': signature, 'content-type': 'application/json' }
  return (await fetch(`${url}/api/webhooks/acme`, { method: 'POST', body, headers })).status
}

describe('a gateway that starts', () => {
  it('answers deliveries and other requests before the rest has started', async () => {
    await using prepared = await prepare()
    const { url } = await openListener(prepared)
    expect(await deliver(url)).toBe(200)
    expect(await prepared.database.db.collection(EVENTS).countDocuments()).toBe(1)
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    expect((await fetch(`${url}/api/orders`)).status).toBe(401)
  })

  it('is not ready before it can dispatch the events that it accepts, and asks operators to try again', async () => {
    await using prepared = await prepare()
    const { context } = await openListener(prepared)
    const url = `http://127.0.0.1:${await startAdmin(context, () => null)}`
    const early = await fetch(`${url}/operator/overview`)
    expect([early.status, early.headers.get('retry-after')]).toEqual([503, '1'])
    const ready = async () => (await (await fetch(`${url}/readyz`)).json()) as object
    expect(await ready()).toMatchObject({ checks: { mongodb: 'unavailable' } })
    await context.mongo.background.open()
    await expect.poll(ready).toMatchObject({ checks: { mongodb: 'ok' } })
  })

  it('ends the start if it is stopped meanwhile, and starts nothing after that', async () => {
    await using prepared = await prepare()
    const { lifecycle } = prepared
    const add = lifecycle.onStop.bind(lifecycle)
    const { promise: stopped, resolve } = Promise.withResolvers<boolean>()
    const added = vi.spyOn(lifecycle, 'onStop').mockImplementation((stage) => {
      add(stage)
      // The last stage that is added before deliveries are accepted.
      if (stage.name === 'public listener') resolve(lifecycle.stop())
    })
    await startGateway(prepared.deps, lifecycle)
    expect(added.mock.lastCall).toMatchObject([{ name: 'public listener' }])
    expect(await stopped).toBe(true)
    expect(prepared.lines.map(({ msg }) => msg)).not.toContain('service.started')
  })

  it('closes the public listener before anything that it rests on', async () => {
    await using prepared = await prepare()
    await startGateway(prepared.deps, prepared.lifecycle)
    await prepared.lifecycle.stop()
    const stages = prepared.lines.filter(({ msg }) => msg === 'service.stage-stopped').map(({ stage }) => stage)
    expect(stages).toEqual([
      ...['public listener', 'housekeeping', 'delivery counts', 'dispatcher'],
      ...['admin listener', 'provider stats', 'mongodb'],
    ])
  })
})
