import { startObjectApi } from '@oncehook/simulator/object-api'
import { createPaymentProvider } from '@oncehook/simulator/payment-provider'
import { SCHEMES } from '@oncehook/webhooks/providers'
import type { PaymentEvent } from '@oncehook/webhooks/signing/payment-event'
import { afterAll, describe, expect, it } from 'vitest'
import { startHttpSystem } from '../support/http/http-system.ts'
import { type SimulatedProvider, simulateProvider } from '../support/providers/simulated-provider.ts'
import { until } from '../support/until.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const api = stack.use(await startObjectApi({ port: 0, token: 'a-token-of-the-simulated-api' }))

const simulated = new Map<string, SimulatedProvider>(
  await Promise.all(
    [...SCHEMES.keys()].map(async (scheme) => {
      const publicUrl = `https://pay.example.com/api/webhooks/${scheme}`
      const place = { publicUrl, apiUrl: api.url, apiToken: 'a-token-of-the-simulated-api', now: Date.now() }
      return [scheme, await simulateProvider(scheme, place)] as const
    }),
  ),
)
const entries = [...simulated].map(([scheme, { settings }]) => [scheme, settings] as const)
const PROVIDERS = JSON.stringify(Object.fromEntries(entries))
const { port, call, events } = stack.use(await startHttpSystem({ gateway: { PROVIDERS } }))

const items = [{ sku: 'sample', quantity: 1, unitAmount: 1999 }]

async function makeOrder(id: string): Promise<void> {
  const body = { customerId: 'cus_1', currency: 'EUR', items }
  const answer = await call({ method: 'PUT', target: `/api/orders/${id}`, body, headers: { 'if-none-match': '*' } })
  expect(answer.status).toBe(201)
}

async function readOrder(id: string): Promise<{ readonly status?: unknown }> {
  return (await call({ target: `/api/orders/${id}` })).json
}

describe.each([...simulated])('the route of a provider of %s', (scheme, { signer, secret, request }) => {
  const deps = { fetch, now: Date.now, sleep: async () => undefined }
  const url = `http://127.0.0.1:${port}/api/webhooks/${scheme}`
  const event = (name: string, type: string): PaymentEvent => ({
    id: `evt_${name}_${scheme}`,
    type,
    paymentId: `pay_${name}_${scheme}`,
    orderId: `ord_${name}_${scheme}`,
    amount: 1999,
    currency: 'EUR',
    occurredAt: Date.now(),
  })
  const settings = request(event('any', 'payment.succeeded'), 0).settings ?? {}
  const provider = createPaymentProvider(deps, { url, signer, secret: secret.signWith, settings })

  /** Makes an order and delivers its payment. */
  async function pay(one: PaymentEvent): Promise<number | null> {
    await makeOrder(one.orderId)
    const object = signer.describeObject?.(one)
    if (object !== undefined) api.add(object)
    return (await provider.deliver(provider.write(one))).status
  }

  it('pays an order', async () => {
    const one = event('paid', 'payment.succeeded')
    expect(await pay(one)).toBe(200)
    const id = signer.paymentIdOf?.(one) ?? one.paymentId
    const order = await until(
      () => readOrder(one.orderId),
      ({ status }) => status !== 'pending',
    )
    expect(order).toMatchObject({ status: 'paid', payment: { id, provider: scheme } })
  })

  it('makes an order show a failed payment', async () => {
    const one = event('failed', 'payment.failed')
    expect(await pay(one)).toBe(200)
    const order = await until(
      () => readOrder(one.orderId),
      ({ status }) => status !== 'pending',
    )
    expect(order).toMatchObject({ status: 'payment_failed' })
  })

  // If the provider has to be asked, its answer decides, not the delivery.
  if (signer.describeObject === undefined) {
    it('refuses a body with one bit changed, and stores nothing', async () => {
      const before = await events.countDocuments()
      const message = provider.write(event('spoiled', 'payment.succeeded'))
      expect((await provider.deliver(message, 'body')).status).toBe(401)
      expect(await events.countDocuments()).toBe(before)
    })
  }
})
