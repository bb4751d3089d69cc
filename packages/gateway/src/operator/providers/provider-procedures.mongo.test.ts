import { randomUUID } from 'node:crypto'
import { refusalOf } from '@oncehook/fulfilment/testing/fulfilment-client'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { pausedDueAt } from '@oncehook/queue/pauses'
import { afterAll, describe, expect, it } from 'vitest'
import { sampleRecord } from '../../testing/sample-record.ts'
import { type RunningGateway, startGateway } from '../../testing/start-gateway.ts'
import { createOperatorClient, paymentEvent, startOperatedSystem } from '../../testing/start-operated-system.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const system = stack.use(await startOperatedSystem(database, { settings: { LEASE_MS: '4000' } }))
const operator = system.operator()
const reason = 'its orders are not there yet'
const dueAt = pausedDueAt('acme')

const pause = () => operator.providers.pause.mutate({ provider: 'acme', reason })
const resume = () => operator.providers.resume.mutate({ provider: 'acme', reason })

/** Another gateway of the same system. */
function startAnother(): Promise<RunningGateway> {
  return startGateway({
    ...{ database, fulfilmentUrl: system.fulfilment.url, keys: system.fulfilment.keys },
    settings: {
      ...{ PROVIDERS: '', PROVIDERS_FILE: system.providersFile, RETRY_BASE_MS: '20', RETRY_CAP_MS: '100' },
      OPERATOR_TOKENS: JSON.stringify(system.tokens.operators),
    },
  })
}

async function pausedGauge({ adminUrl }: RunningGateway): Promise<string | undefined> {
  const metrics = await (await fetch(`${adminUrl}/metrics`)).text()
  return /^oncehook_provider_paused\{provider="acme"\} (\d)/m.exec(metrics)?.[1]
}

async function untilGauge(gateway: RunningGateway, value: string): Promise<void> {
  await expect.poll(() => pausedGauge(gateway)).toBe(value)
}

/** Waits until some gateway has handled an event of another provider that was due after those of the paused one. */
async function untilPolled(): Promise<void> {
  const eventId = randomUUID()
  await system.events.insertOne(sampleRecord({ eventId, provider: 'shop', state: 'pending' }))
  await system.until(eventId, ({ state }) => state === 'unhandled')
}

async function delivered(): Promise<string> {
  const eventId = randomUUID()
  expect(await system.deliver(paymentEvent(eventId, { orderId: await system.order() }))).toBe(200)
  return eventId
}

async function newestEntries(limit: number): Promise<unknown[]> {
  return (await operator.audit.list.query({ limit })).items
}

async function shownPause(): Promise<unknown> {
  return (await operator.providers.list.query()).find(({ name }) => name === 'acme')?.paused
}

describe('providers.pause', () => {
  it('stores events and answers 200, but sends nothing until providers.resume', async () => {
    expect(await shownPause()).toBeNull()
    expect(await pause()).toEqual({ provider: 'acme', paused: true })
    const ids = [await delivered(), await delivered()]
    await untilPolled()
    for (const id of ids) expect(await system.record(id)).toMatchObject({ state: 'pending', dueAt, starts: 0 })
    expect(await shownPause()).toEqual({ since: expect.any(String), by: 'alice', reason, waiting: 2 })
    const items = (await operator.events.list.query({ provider: 'acme', state: 'pending' })).items
    expect(items.map((event) => event.dueAt)).toEqual([null, null])
    expect(await operator.overview.query()).toMatchObject({ pausedProviders: ['acme'], oldestUnsettledSeconds: 0 })
    expect(await resume()).toEqual({ provider: 'acme', paused: false })
    for (const id of ids) expect(await system.until(id, ({ state }) => state === 'done')).toMatchObject({ starts: 1 })
    expect(await shownPause()).toBeNull()
  })

  it('is written to the audit log and the log, even if it changes nothing', async () => {
    await pause()
    expect(await refusalOf(pause())).toMatchObject({ reason: 'provider_paused', httpStatus: 409 })
    await resume()
    expect(await refusalOf(resume())).toMatchObject({ reason: 'provider_not_paused', httpStatus: 409 })
    const [by, provider] = ['alice', 'acme']
    expect(await newestEntries(4)).toMatchObject([
      { by, action: 'providers.resume', reason, details: { provider, refused: 'provider_not_paused' } },
      { by, action: 'providers.resume', reason, details: { provider } },
      { by, action: 'providers.pause', reason, details: { provider, refused: 'provider_paused' } },
      { by, action: 'providers.pause', reason, details: { provider } },
    ])
    for (const msg of ['provider.paused', 'provider.resumed']) {
      expect(system.gateway.logs).toContainEqual(expect.objectContaining({ msg, by, provider }))
    }
  })

  it('refuses a provider that is not configured', async () => {
    const refused = operator.providers.pause.mutate({ provider: 'nobody', reason })
    expect(await refusalOf(refused)).toMatchObject({ code: 'NOT_FOUND' })
  })

  it('can be ended after the provider was removed from the settings', async () => {
    await database.db.collection<{ _id: string }>('provider_pauses').insertOne({ _id: 'removed' })
    const resumed = operator.providers.resume.mutate({ provider: 'removed', reason })
    expect(await resumed).toEqual({ provider: 'removed', paused: false })
  })

  it('holds for all gateways, and one that starts later', async () => {
    await using other = await startAnother()
    expect(await pausedGauge(other)).toBe('0')
    await pause()
    await untilGauge(other, '1')
    await using later = await startAnother()
    expect(await pausedGauge(later)).toBe('1')
    const eventId = await delivered()
    await untilPolled()
    expect(await system.record(eventId)).toMatchObject({ state: 'pending', starts: 0 })
    const token = system.tokens.operators.bob
    await createOperatorClient(later.adminUrl, token).providers.resume.mutate({ provider: 'acme', reason })
    await untilGauge(other, '0')
    await untilGauge(system.gateway, '0')
    expect(await system.until(eventId, ({ state }) => state === 'done')).toMatchObject({ starts: 1 })
  })
})
