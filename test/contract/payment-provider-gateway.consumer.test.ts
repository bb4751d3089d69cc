import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createPaymentProvider, type Message, type PaymentProvider } from '@oncehook/simulator/payment-provider'
import { signers } from '@oncehook/simulator/signers/signers'
import { MatchersV3, PactV3 } from '@pact-foundation/pact'
import { afterAll, describe, expect, it } from 'vitest'
import { CONTRACTS, commitPact, readPact } from './pact-files.ts'

const { like, regex, string } = MatchersV3
const NAME = 'payment-provider-gateway.json'
const folder = await mkdtemp(join(tmpdir(), 'pacts-'))
afterAll(() => rm(folder, { recursive: true }))

function paymentProvider(url: string): PaymentProvider {
  const signer = signers.get('standard-webhooks')
  if (signer === undefined) throw new Error('The simulator knows no Standard Webhooks')
  const deps = { fetch: globalThis.fetch, now: Date.now, sleep: async (ms: number) => sleep(ms) }
  const secret = 'whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY='
  return createPaymentProvider(deps, { url: `${url}/api/webhooks/acme`, signer, secret })
}

function paymentOf(eventId: string): Message {
  const event = { id: eventId, type: 'payment.succeeded', paymentId: 'pay_1', orderId: 'ord_1' }
  return paymentProvider('').write({ ...event, amount: 1999, currency: 'EUR', occurredAt: 0 })
}

function malformed(eventId: string): Message {
  return { eventId, body: Buffer.from(JSON.stringify({ id: eventId, type: 'payment.succeeded', data: {} })) }
}

const RECEIVED = { status: 200, headers: json(), body: { received: true } }

function refused(status: number, code: string) {
  return { status, headers: json(), body: { error: string('A sentence'), code, requestId: like('a-request-id') } }
}

function json() {
  return { 'Content-Type': 'application/json; charset=utf-8' }
}

/** What a provider sends, what it must find there, and what it gets back. The state decides how it is signed. */
const INTERACTIONS = [
  {
    does: 'delivers an event for the first time',
    state: 'the event is not known',
    message: paymentOf('evt_new'),
    answer: RECEIVED,
  },
  { does: 'delivers an event again', state: 'the event is stored', message: paymentOf('evt_again'), answer: RECEIVED },
  {
    does: 'delivers a forged event',
    state: 'the sender has another secret',
    message: paymentOf('evt_forged'),
    answer: refused(401, 'signature_invalid'),
  },
  {
    does: 'delivers a body that is no event',
    state: 'the event is not known',
    message: malformed('evt_malformed'),
    answer: refused(400, 'event_invalid'),
  },
]

describe('a payment provider', () => {
  it.each(INTERACTIONS)('$does', async ({ does, state, message, answer }) => {
    const pact = new PactV3({ consumer: 'payment-provider', provider: 'gateway', dir: folder, logLevel: 'error' })
    pact.addInteraction({
      states: [{ description: state }],
      uponReceiving: does,
      withRequest: {
        method: 'POST',
        path: '/api/webhooks/acme',
        headers: {
          'Content-Type': 'application/json',
          'webhook-id': regex(/^[^.]{1,255}$/, message.eventId),
          'webhook-timestamp': regex(/^\d{10}$/, '1760000000'),
          'webhook-signature': regex('^v1,[A-Za-z0-9+/]{43}=$', `v1,${'A'.repeat(43)}=`),
        },
        body: JSON.parse(Buffer.from(message.body).toString()) as Record<string, never>,
      },
      willRespondWith: answer,
    })
    await pact.executeTest(async ({ url }) => {
      const report = await paymentProvider(url).deliver(message)
      expect(report).toMatchObject({ status: answer.status, failure: null })
    })
  })

  it('asks for what the committed contract says', async () => {
    if (process.env.UPDATE_CONTRACTS === '1') await commitPact(folder, NAME)
    expect(await readPact(folder, NAME), 'UPDATE_CONTRACTS=1 npm test -- test/contract takes the new one over').toEqual(
      await readPact(CONTRACTS, NAME),
    )
  })
})
