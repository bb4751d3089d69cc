import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MongoClient } from 'mongodb'
import { afterAll, expect, it } from 'vitest'
import { createOrdersApi } from '../support/load/orders-api.ts'
import { settingsOfFirstRelease } from '../support/settings-of-first-release.ts'
import { runToEnd, ServiceUnderTest, type Settings } from '../support/stack/service-under-test.ts'
import { choosePlace, paymentOf, readReceipts } from '../support/stack/stack.ts'
import { createStackProvider } from '../support/stack/stack-provider.ts'
import { until } from '../support/until.ts'

const resources = new AsyncDisposableStack()
afterAll(() => resources.disposeAsync())
const place = await choosePlace(resources)
const client = resources.use(await new MongoClient(place.mongoUri).connect())
for (const name of [place.gatewayDb, place.fulfilmentDb])
  resources.defer(async () => void (await client.db(name).dropDatabase()))
const folder = await mkdtemp(join(tmpdir(), 'oncehook-former-'))
resources.defer(() => rm(folder, { recursive: true }))
const former = await settingsOfFirstRelease(place, folder)
const upgrading = readFileSync(join(import.meta.dirname, '../../docs/upgrading.md'), 'utf8')

/** The output of a service that does not start: one line for each problem. */
async function refusal(name: 'gateway' | 'fulfilment', settings: Settings): Promise<string[]> {
  const { code, stderr } = await runToEnd({ name, settings })
  expect(code).toBe(78)
  return stderr.trimEnd().split('\n')
}

const ADDED = '"effects": ["payment.succeeded", "payment.failed"]'

/** The settings after the properties that the gateway asked for are added to each provider. */
function withAdded(settings: Settings, lines: readonly string[]): Settings {
  const providers = JSON.parse(settings.PROVIDERS ?? '{}')
  for (const line of lines) {
    const [, name = '', member = ''] = /^oncehook: PROVIDERS\.([\w-]+): .* add ("\w+": \[.*?\])/.exec(line) ?? []
    providers[name] = { ...providers[name], ...JSON.parse(`{${member}}`) }
  }
  return { ...settings, PROVIDERS: JSON.stringify(providers) }
}

it('a configuration of release 0.1.0 stops the gateway with the lines to add, and works with them as it did', async () => {
  const lines = await refusal('gateway', former.gateway)
  const asked = ['acme', 'shop', 'documented-shop', 'hook0', 'documented-standard']
  expect(lines).toEqual(
    asked.map((name) => `oncehook: PROVIDERS.${name}: effects is required: add ${ADDED}, or "effects": [] for none`),
  )
  expect(upgrading).toContain(ADDED)

  const fulfilment = resources.use(new ServiceUnderTest('fulfilment', former.fulfilment))
  const gateway = resources.use(new ServiceUnderTest('gateway', withAdded(former.gateway, lines)))
  await Promise.all([fulfilment.start(), gateway.start()])
  const url = `http://127.0.0.1:${place.gatewayPort}`
  const orders = createOrdersApi({ url, token: place.secrets.apiToken })
  const order = await orders.create()
  const acme = createStackProvider({ name: 'acme', url, secrets: place.secrets, signatures: new Set() })
  const message = acme.write(paymentOf(order))
  for (const _ of [1, 2]) expect((await acme.deliver(message)).status).toBe(200)
  expect(await orders.untilStatus(order.id, 'paid')).toMatchObject({ access: 'unlocked', version: 2 })
  const receipts = await until(
    () => readReceipts(place.receiptsFile),
    ({ length }) => length > 0,
  )
  expect(receipts).toMatchObject([{ orderId: order.id, customerId: order.customerId, email: order.email }])
  const events = client.db(place.gatewayDb).collection('events')
  expect(await events.countDocuments()).toBe(1)
})

it.each([
  ['log:', {}],
  ['a mail server', { RECEIPT_SINK: 'smtp://mail.example.com:587', RECEIPT_FROM: 'shop@example.com' }],
  ['a receiver on this machine', { RECEIPT_SINK: 'http://127.0.0.1:9/receipts' }],
])('fulfilment starts with receipts of release 0.1.0 to %s', async (_, sink) => {
  const own = await choosePlace(resources)
  resources.defer(async () => void (await client.db(own.fulfilmentDb).dropDatabase()))
  const { RECEIPT_SINK: __, ...others } = former.fulfilment
  await using fulfilment = new ServiceUnderTest('fulfilment', {
    ...{ ...others, FULFILMENT_PORT: String(own.fulfilmentPort), FULFILMENT_DB: own.fulfilmentDb },
    ...sink,
  })
  await fulfilment.start()
})

it('fulfilment stops with the line to add if receipts of release 0.1.0 go to another machine', async () => {
  const RECEIPT_SINK = 'https://receipts.example.com/new'
  const [line = '', ...more] = await refusal('fulfilment', { ...former.fulfilment, RECEIPT_SINK })
  expect(more).toEqual([])
  expect(line).toMatch(/^oncehook: RECEIPT_SINK posts receipts to another machine.* Add RECEIPT_SECRET=whsec_/)
  expect(upgrading).toContain('RECEIPT_SECRET=whsec_')
})
