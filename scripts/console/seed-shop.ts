import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { fulfilmentClient } from '@oncehook/fulfilment/testing/fulfilment-client'
import type { OperatedSystem } from '@oncehook/gateway/testing/start-operated-system'
import { makeDevelopmentSecret } from '@oncehook/simulator/development-secret'
import { createPaymentProvider, type PaymentProvider } from '@oncehook/simulator/payment-provider'
import { signers } from '@oncehook/webhooks/signing/signers'
import { type Collection, type Document, type Filter, ObjectId, type WithId } from 'mongodb'

/** Ids of the records that the pictures show. */
export interface SeededShop {
  /** A dead event after several attempts, with a replay. */
  readonly deadEvent: string
  /** A replay that has ended. */
  readonly replay: string
}

/** How each provider of the shop signs: the settings for the gateway, and the secrets by their ids. */
export interface ShopProviders {
  /** In the form of `PROVIDERS`. */
  readonly settings: Readonly<Record<string, { readonly scheme: string }>>
  secretOf(provider: string, id: string): string
}

const DAY_MS = 86_400_000
const EFFECTS = ['payment.succeeded', 'payment.failed']
/** Name, scheme, ids of the secrets (the newest first), further settings. */
const PLAN: readonly (readonly [string, string, readonly string[], object])[] = [
  ['stripe', 'stripe', ['2026-11', '2026-05'], { testMode: true }],
  ['adyen', 'adyen', ['live'], {}],
  ['shopify', 'shopify', ['app'], {}],
  ['subscriptions', 'standard-webhooks', ['2026-09'], { effects: EFFECTS }],
]

/** Makes new secrets for the providers of the shop. If a provider has several, the older ones expire in six days. */
export async function makeShopProviders(now: number): Promise<ShopProviders> {
  const made = new Map<string, string>()
  const settings: Record<string, { scheme: string; secrets: object[] }> = {}
  for (const [name, scheme, ids, more] of PLAN) {
    const secrets = []
    for (const [index, id] of ids.entries()) {
      const { signWith, value } = await makeDevelopmentSecret(scheme, now)
      made.set(`${name} ${id}`, signWith)
      const isOld = index > 0
      secrets.push({ id, value, ...(isOld ? { notAfter: new Date(now + 6 * DAY_MS).toISOString() } : {}) })
    }
    settings[name] = { scheme, secrets, ...more }
  }
  return { settings, secretOf: (provider, id) => made.get(`${provider} ${id}`) ?? '' }
}

interface Payment {
  readonly provider: string
  readonly secret: string
  /** The paid amount that the provider reports, in minor units. Default: the price of the order. */
  readonly amount?: number
  readonly type?: string
  /** Default: a new order with a random price. */
  readonly orderId?: string
}

/** Sends the deliveries of a busy hour to a system, and does what its operators would do. */
export async function seedShop(system: OperatedSystem, providers: ShopProviders): Promise<SeededShop> {
  const shop = openShop(system, providers)
  for (let round = 0; round < 9; round += 1) {
    for (const [provider, secret] of USUAL) await shop.pay({ provider, secret })
  }
  const twice = await shop.pay({ provider: 'stripe', secret: '2026-05' })
  for (let copy = 0; copy < 3; copy += 1) await twice.again()
  await shop.pay({ provider: 'stripe', secret: '2026-11', type: 'payment.failed' })
  await shop.pay({ provider: 'stripe', secret: '2026-11', type: 'customer.updated' })
  await refuse(shop)
  await parkReceipt(system)
  return await operate(system, shop)
}

const USUAL = [
  ['stripe', '2026-11'],
  ['adyen', 'live'],
  ['subscriptions', '2026-09'],
  ['stripe', '2026-11'],
] as const

type Shop = ReturnType<typeof openShop>

/** A shop whose customers order and pay. */
function openShop(system: OperatedSystem, { settings, secretOf }: ShopProviders) {
  const { orders } = fulfilmentClient(system.fulfilment)
  const deps = { fetch, now: () => Date.now(), sleep: (ms: number) => sleep(ms) }
  const providerOf = (name: string, secret: string, skewMs = 0): PaymentProvider => {
    const signer = signers.get(settings[name]?.scheme ?? '')
    if (signer === undefined) throw new Error(`There is no signer for ${name}`)
    const url = `${system.gateway.url}/api/webhooks/${name}`
    return createPaymentProvider(deps, { url, signer, secret, skewMs })
  }
  const makeOrder = (unitAmount: number) => ({
    customerId: `cus_${randomInt(10_000, 99_999)}`,
    currency: 'EUR',
    items: [{ sku: 'wool-socks', quantity: 1, unitAmount }],
  })
  return {
    providerOf,
    /** Creates an order after its payment, with the id from the payment. */
    createLate: (id: string, unitAmount: number) =>
      orders.put.mutate({ id, order: makeOrder(unitAmount), ifNoneMatch: '*' }),
    /** Pays an order with one delivery, which can be repeated. Waits until the delivery is stored. */
    async pay({ provider, secret, amount, type = 'payment.succeeded', orderId }: Payment) {
      const price = randomInt(9, 240) * 100 - 5
      const paid = orderId ?? (await orders.create.mutate({ order: makeOrder(price) })).order.id
      const id = `evt_${randomInt(2 ** 40)
        .toString(36)
        .padStart(9, '0')}`
      const sender = providerOf(provider, secretOf(provider, secret))
      const message = sender.write({
        ...{ id, type, paymentId: `pay_${id.slice(4)}`, orderId: paid },
        ...{ amount: amount ?? price, currency: 'EUR', occurredAt: Date.now() },
      })
      const again = async (): Promise<void> => {
        const { status, body } = await sender.deliver(message)
        if (status !== 200) throw new Error(`The delivery of ${provider} was refused: ${status} ${body}`)
      }
      await again()
      return { id, orderId: paid, message, again }
    },
  }
}

const LATE_MS = 11 * 60_000

/** Sends deliveries that are not authentic: from a stranger, changed on the way, and far too late. */
async function refuse({ providerOf, pay }: Shop): Promise<void> {
  const { message } = await pay({ provider: 'stripe', secret: '2026-11' })
  const { signWith: stranger } = await makeDevelopmentSecret('stripe', Date.now())
  await providerOf('stripe', stranger).deliver(message)
  await providerOf('stripe', stranger, -LATE_MS).deliver(message)
  const { signWith: other } = await makeDevelopmentSecret('standard-webhooks', Date.now())
  await providerOf('subscriptions', other).deliver(message)
  const { signWith: forger } = await makeDevelopmentSecret('adyen', Date.now())
  const item = await pay({ provider: 'adyen', secret: 'live' })
  await providerOf('adyen', forger).deliver(item.message)
}

/** Makes the receipt of one customer look as if it could not be delivered. */
async function parkReceipt({ events }: OperatedSystem): Promise<void> {
  const orders = events.db.client.db(`${events.dbName}_fulfilment`).collection('orders')
  await found(orders, { 'receipts.0.state': 'sent' })
  const [, second] = await orders.find({ 'receipts.0.state': 'sent' }).sort({ _id: 1 }).toArray()
  const lastError = { code: 'receipt_outcome_unknown', at: new Date() }
  const parked = Object.entries({ state: 'parked', dueAt: null, sentAt: null, lastError })
  const $set = Object.fromEntries(parked.map(([name, value]) => [`receipts.0.${name}`, value]))
  if (second !== undefined) await orders.updateOne({ _id: second._id }, { $set })
}

/** Makes events fail, and does what operators would do about them. */
async function operate(system: OperatedSystem, { pay, createLate }: Shop): Promise<SeededShop> {
  const [alice, bob] = [system.operator('alice'), system.operator('bob')]
  const { events } = system
  const orderId = `ord_${randomInt(2 ** 40)
    .toString(36)
    .padStart(9, '0')}`
  await pay({ provider: 'stripe', secret: '2026-11', orderId, amount: 4_995 })
  await found(events, { orderId, 'attempts.2': { $exists: true } })
  await createLate(orderId, 5_995)
  const deadEvent = String((await found(events, { orderId, state: 'dead' }))._id)
  const unwanted = await pay({ provider: 'adyen', secret: 'live', amount: 1_000 })
  const { _id: closed } = await found(events, { orderId: unwanted.orderId, state: 'dead' })
  await bob.events.close.mutate({ id: String(closed), reason: 'the customer cancelled the order' })
  await alice.events.replay.mutate({ ids: [deadEvent], reason: 'the price was corrected' })
  await found(events, { orderId, state: 'dead', 'replays.0': { $exists: true } })
  const replayed = await alice.events.replay.mutate({
    ...{ filter: { provider: 'subscriptions' }, includeDone: true, ratePerSecond: 100 },
    reason: 'check that nothing is paid twice',
  })
  await found(events.db.collection('replays'), { _id: new ObjectId(String(replayed.replayId)), state: 'finished' })
  await alice.events.get.query({ id: deadEvent, body: true })
  await bob.providers.pause.mutate({ provider: 'shopify', reason: 'the shop moves to a new warehouse' })
  for (let waiting = 0; waiting < 3; waiting += 1) await pay({ provider: 'shopify', secret: 'app' })
  return { deadEvent, replay: String(replayed.replayId) }
}

const LOOK_MS = 100
const LATEST_MS = 30_000

/** Waits for a document. */
async function found<T extends Document>(collection: Collection<T>, filter: Filter<T>): Promise<WithId<T>> {
  const deadline = performance.now() + LATEST_MS
  for (;;) {
    const document = await collection.findOne(filter)
    if (document !== null) return document
    if (performance.now() > deadline)
      throw new Error(`No document of ${collection.collectionName} reached the expected state`)
    await sleep(LOOK_MS)
  }
}
