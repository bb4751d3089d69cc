import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import Stripe from 'stripe'
import { afterAll, expect, it } from 'vitest'
import { makeOrder } from '../support/http/http-orders.ts'
import { startHttpSystem } from '../support/http/http-system.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const secret = `whsec_${randomBytes(24).toString('base64url')}`
const providers = { stripe: { scheme: 'stripe', testMode: true, secrets: [{ id: '2026', value: secret }] } }
const system = stack.use(await startHttpSystem({ gateway: { PROVIDERS: JSON.stringify(providers) } }))

const resources = resolve(import.meta.dirname, '../../node_modules/stripe/esm/resources')

/** The types in the declarations of Stripe's SDK: those of snapshot events, and those of thin events. */
const snapshots = typesIn('Events.d.ts', /(?<=type Type = [^;]*')[^',|]+(?=')/g)
const thin = typesIn('V2/Core/Events.d.ts', /(?<=type: ')v[12]\.[^']+/g)

function typesIn(file: string, pattern: RegExp): string[] {
  const text = readFileSync(join(resources, file), 'utf8')
  return [...new Set(Array.from(text.matchAll(pattern), ([type]) => type))]
}

/** Sends as Stripe does: the body and the signature are of its SDK. */
async function deliver(event: object): Promise<number> {
  const body = JSON.stringify(event, null, 2)
  const signature = Stripe.webhooks.generateTestHeaderString({ payload: body, secret })
  const headers = { 'stripe-signature': signature, 'user-agent': 'Stripe/1.0 (+https://stripe.com/docs/webhooks)' }
  const answer = await system.call({ method: 'POST', target: '/api/webhooks/stripe', principal: null, headers, body })
  return answer.status
}

function snapshot(type: string, id: string, object: object): object {
  return {
    ...{ id, object: 'event', api_version: '2025-10-29.clover', created: 1_760_000_000, livemode: false },
    ...{ pending_webhooks: 1, request: { id: null, idempotency_key: null }, type },
    data: { object: { object: type.replace(/\.[^.]+$/, ''), ...object } },
  }
}

it('every event of the SDK of Stripe is answered 200, stored once, and only a payment has an effect', async () => {
  const [paid, failed, other] = [await makeOrder(system), await makeOrder(system), await makeOrder(system)]
  const orders = new Map([
    ['payment_intent.succeeded', paid.id],
    ['payment_intent.payment_failed', failed.id],
  ])
  const whole = (type: string): object => ({
    ...{ id: `obj_${type}`, amount: 300, amount_received: 300, amount_captured: 300 },
    ...{ amount_total: 300, amount_paid: 300 },
    ...{ currency: 'eur', status: 'succeeded', payment_status: 'paid', paid: true, captured: true, livemode: false },
    ...{ created: 1_760_000_000, customer: 'cus_1', metadata: { order_id: orders.get(type) ?? other.id } },
  })
  const events = [
    ...snapshots.flatMap((type) => [
      { type, id: `evt_least_${type}`, event: snapshot(type, `evt_least_${type}`, {}) },
      { type, id: `evt_whole_${type}`, event: snapshot(type, `evt_whole_${type}`, whole(type)) },
    ]),
    ...thin.map((type) => {
      const related_object = { id: 'obj_1', type: type.replace(/\.[^.]+$/, ''), url: '/v2/core/x' }
      const event = { id: `evt_thin_${type}`, object: 'v2.core.event', type, created: '2025-10-09T08:53:20.000Z' }
      return { type, id: event.id, event: { ...event, livemode: false, related_object } }
    }),
  ]
  expect(snapshots.length).toBeGreaterThan(200)
  expect(thin.length).toBeGreaterThan(20)

  // Each one twice, because Stripe repeats itself.
  for (const { id, event } of [...events, ...events]) expect([id, await deliver(event)]).toEqual([id, 200])

  const stored = await system.events.find({ provider: 'stripe' }).toArray()
  expect(stored).toHaveLength(events.length)
  const known = new Set(stored.map(({ eventId }) => eventId as string))
  expect(events.filter(({ id }) => !known.has(id)).map(({ id }) => id)).toEqual([
    'evt_least_payment_intent.payment_failed',
    'evt_least_payment_intent.succeeded',
  ])
  await expect.poll(() => system.events.countDocuments({ state: 'done' })).toBe(2)
  const working = stored.filter(({ state }) => state !== 'unhandled').map(({ eventId }) => eventId)
  expect(working.toSorted()).toEqual(['evt_whole_payment_intent.payment_failed', 'evt_whole_payment_intent.succeeded'])
  const statusOf = async ({ target }: { readonly target: string }): Promise<string> =>
    JSON.parse((await system.call({ target })).text).status
  expect(await Promise.all([paid, failed, other].map(statusOf))).toEqual(['paid', 'payment_failed', 'pending'])
})
