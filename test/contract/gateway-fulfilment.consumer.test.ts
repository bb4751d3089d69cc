import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ApplyResult, PaymentProcedures } from '@oncehook/gateway/dispatch/apply-payments'
import { createFulfilmentClient, createPaymentProcedures } from '@oncehook/gateway/dispatch/fulfilment-client'
import type { PaymentCommand } from '@oncehook/gateway/dispatch/payment-command'
import { systemClock } from '@oncehook/kernel/clock'
import { Secret } from '@oncehook/kernel/secret'
import { createServiceTokens } from '@oncehook/kernel/service-token'
import { MatchersV3, PactV3 } from '@pact-foundation/pact'
import { afterAll, describe, expect, it } from 'vitest'
import { CONTRACTS, commitPact, readPact } from './pact-files.ts'

const { integer, regex } = MatchersV3
const NAME = 'gateway-fulfilment.json'
const folder = await mkdtemp(join(tmpdir(), 'pacts-'))
afterAll(() => rm(folder, { recursive: true }))

/** The gateway's own client, as it calls fulfilment in earnest. */
function procedures(url: string): PaymentProcedures {
  const secret = new Secret('a-secret-that-signs-nothing-that-counts')
  const tokens = createServiceTokens({ secret, issuer: 'gateway', audience: 'fulfilment', clock: systemClock })
  const client = createFulfilmentClient({ url: new URL(url), tokens, fetch: globalThis.fetch, timeoutMs: 5_000 })
  return createPaymentProcedures(client)
}

function eventFor(name: string): PaymentCommand & { ifMatch: string } {
  const event = { provider: 'acme', eventId: `evt_${name}`, type: 'payment.succeeded' as const }
  return { ...event, paymentId: `pay_${name}`, orderId: `ord_${name}`, amount: 1999, currency: 'EUR', ifMatch: '"1"' }
}

interface Interaction {
  readonly does: string
  readonly state: string
  readonly event: PaymentCommand & { ifMatch: string }
  readonly result: ApplyResult
}

/** What the gateway hands on, what fulfilment must hold, and what it says. */
const INTERACTIONS: readonly Interaction[] = [
  {
    does: 'hands on a payment of an order',
    state: 'the order ord_applied is pending in version 1',
    event: eventFor('applied'),
    result: { outcome: 'applied', version: 2 },
  },
  {
    does: 'hands on a payment again, with the version of before',
    state: 'the event evt_duplicate has paid the order ord_duplicate',
    event: eventFor('duplicate'),
    result: { outcome: 'duplicate', version: 2 },
  },
  {
    does: 'hands on a payment with a stale If-Match',
    state: 'the order ord_stale is pending in version 2',
    event: eventFor('stale'),
    result: { refused: 'precondition_failed', retry: 'now' },
  },
  {
    does: 'hands on a payment of an unknown order',
    state: 'there is no order ord_unknown',
    event: { ...eventFor('unknown'), ifMatch: '*' },
    result: { refused: 'order_unknown', retry: 'later' },
  },
]

const REQUEST_HEADERS = { authorization: regex(/^Bearer [\w-]+\.[\w-]+\.[\w-]+$/, 'Bearer a.b.c') }
const JSON_ANSWER = { 'Content-Type': 'application/json; charset=utf-8' }

function newPact(): PactV3 {
  return new PactV3({ consumer: 'gateway', provider: 'fulfilment', dir: folder, logLevel: 'error' })
}

describe('the gateway', () => {
  it('asks for the versions of orders', async () => {
    const orderIds = ['ord_present', 'ord_absent']
    const pact = newPact()
    pact.addInteraction({
      states: [{ description: 'the order ord_present is pending in version 1' }],
      uponReceiving: 'asks for the versions of orders',
      withRequest: {
        method: 'GET',
        path: '/trpc/payments.versions',
        query: { input: JSON.stringify({ orderIds }) },
        headers: REQUEST_HEADERS,
      },
      willRespondWith: {
        status: 200,
        headers: JSON_ANSWER,
        body: { result: { data: { ord_present: integer(1), ord_absent: null } } },
      },
    })
    await pact.executeTest(async ({ url }) => {
      const versions = await procedures(url).versions(orderIds)
      expect(Object.fromEntries(versions)).toEqual({ ord_present: 1, ord_absent: null })
    })
  })

  it.each(INTERACTIONS)('$does', async ({ does, state, event, result }) => {
    const pact = newPact()
    pact.addInteraction({
      states: [{ description: state }],
      uponReceiving: does,
      withRequest: {
        method: 'POST',
        path: '/trpc/payments.applyEvents',
        headers: { ...REQUEST_HEADERS, 'content-type': 'application/json' },
        body: { events: [{ ...event }] },
      },
      willRespondWith: {
        status: 200,
        headers: JSON_ANSWER,
        body: { result: { data: { results: [{ ...result }] } } },
      },
    })
    await pact.executeTest(async ({ url }) => {
      expect(await procedures(url).applyEvents([event])).toEqual([result])
    })
  })

  it('asks for what the committed contract says', async () => {
    if (process.env.UPDATE_CONTRACTS === '1') await commitPact(folder, NAME)
    expect(await readPact(folder, NAME), 'UPDATE_CONTRACTS=1 npm test -- test/contract takes the new one over').toEqual(
      await readPact(CONTRACTS, NAME),
    )
  })
})
