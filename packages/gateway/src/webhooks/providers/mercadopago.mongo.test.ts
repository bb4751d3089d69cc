import { createHmac } from 'node:crypto'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { makeProvider } from '@oncehook/webhooks/testing/make-provider'
import { type ApiAnswers, serveApi } from '@oncehook/webhooks/testing/serve-api'
import { afterAll, describe, expect, it } from 'vitest'
import { startGateway } from '../../testing/start-gateway.ts'

const answers: Record<string, ApiAnswers[string]> = {}
const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const api = stack.use(await serveApi(answers))
const secret = 'the_secret_of_mercado_pago'
const seconds = 1_760_000_000
const settings = { scheme: 'mercadopago', fetch: { baseUrl: api.baseUrl, token: 'APP_USR-0001' } }
const database = stack.use(await testDatabase(process.env))
const providers = { mp: { ...settings, secrets: [{ id: 's1', value: secret }] } }
const gateway = stack.use(await startGateway({ database, providers, clock: { now: () => seconds * 1_000 } }))
const events = database.db.collection('events')

const payment = {
  ...{ status: 'approved', transaction_amount: 58.8, currency_id: 'BRL', external_reference: 'ord_0001' },
  ...{ transaction_amount_refunded: 0, date_last_updated: '2026-01-01T00:00:00.000-04:00' },
}

interface Sent {
  readonly id: string
  readonly type?: string
  readonly body?: object
  readonly requestId?: string
}

let requests = 0

function linesOf(id: string, requestId: string): string[] {
  const manifest = `id:${id.toLowerCase()};request-id:${requestId};ts:${seconds};`
  const mac = createHmac('sha256', secret).update(manifest).digest('hex')
  return ['x-signature', `ts=${seconds},v1=${mac}`, 'x-request-id', requestId]
}

/** Notifies as Mercado Pago does, each time under another id of the request. */
async function notify({ id, type = 'payment', body, requestId }: Sent): Promise<number> {
  requests += 1
  const [signature = '', value = '', name = '', request = ''] = linesOf(id, requestId ?? `req-${requests}`)
  const response = await fetch(`${gateway.url}/api/webhooks/mp?data.id=${id}&type=${type}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', [signature]: value, [name]: request },
    body: JSON.stringify(body ?? { id: 1, type, action: `${type}.updated`, data: { id } }),
  })
  await response.arrayBuffer()
  return response.status
}

const storedOf = (objectId: string) => events.find({ objectId }).sort({ _id: 1 }).toArray()

describe('a notification of Mercado Pago', () => {
  it('is one event for each state of the payment, however often it is delivered', async () => {
    for (const state of [
      { status: 'pending' },
      { status: 'pending' },
      { status: 'approved' },
      { status: 'approved' },
      { status: 'approved', transaction_amount_refunded: 10.5 },
      { status: 'refunded', transaction_amount_refunded: 58.8 },
      { status: 'charged_back' },
    ]) {
      answers['/v1/payments/2'] = [200, { id: 2, ...payment, ...state }]
      expect(await notify({ id: '2' })).toBe(200)
    }
    expect((await storedOf('2')).map(({ eventId, type }) => [eventId, type])).toEqual([
      ['payment:2:pending', 'payment.pending'],
      ['payment:2:approved', 'payment.succeeded'],
      ['payment:2:approved:refunded-10.5', 'payment.succeeded'],
      ['payment:2:refunded:refunded-58.8', 'payment.refunded'],
      ['payment:2:charged_back', 'payment.charged_back'],
    ])
  })

  it('believes nothing of the body, which is not signed', async () => {
    answers['/v1/payments/4'] = [200, { id: 4, ...payment, status: 'pending' }]
    const body = {
      type: 'payment',
      action: 'payment.approved',
      data: { id: '1', status: 'approved' },
      status: 'approved',
    }
    expect(await notify({ id: '4', body })).toBe(200)
    expect(await storedOf('4')).toMatchObject([{ eventId: 'payment:4:pending', type: 'payment.pending' }])
  })

  it('of another topic is stored without effect, once for its signed content', async () => {
    const asked = api.requests.length
    expect(await notify({ id: '5', type: 'merchant_order', requestId: 'req-topic' })).toBe(200)
    expect(await notify({ id: '5', body: { type: 'payment.succeeded' }, requestId: 'req-topic' })).toBe(200)
    expect(await storedOf('5')).toMatchObject([{ type: 'merchant_order', state: 'unhandled' }])
    expect(api.requests).toHaveLength(asked)
  })

  it.each([
    ['does not know', [404, {}] as const, 401],
    ['answers for another payment with', [200, { ...payment, id: 7 }] as const, 401],
    ['cannot tell of now', [503, {}] as const, 500],
  ])('of a payment that Mercado Pago %s leaves nothing', async (_, answer, expected) => {
    answers['/v1/payments/6'] = answer
    expect(await notify({ id: '6' })).toBe(expected)
    expect(await storedOf('6')).toEqual([])
  })
})

describe('the signature of Mercado Pago', () => {
  const provider = makeProvider({ settings, secrets: [{ value: secret }] })
  const delivery = {
    rawBody: Buffer.from('{"type":"payment"}'),
    rawHeaders: linesOf('123456', 'req-0001'),
    query: 'data.id=123456&type=payment',
  }
  const accepts = async (changed: Partial<typeof delivery>): Promise<boolean> =>
    'secretId' in (await provider.verify({ ...delivery, ...changed }, seconds * 1_000, fetch))

  function flip(text: string, bit: number): string {
    const bytes = Buffer.from(text, 'latin1')
    bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    return bytes.toString('latin1')
  }

  it('does not fit with any one bit of it, of the time, of the request or of the id changed', async () => {
    expect(await accepts({})).toBe(true)
    for (const index of [1, 3]) {
      const value = delivery.rawHeaders[index] ?? ''
      for (let bit = 0; bit < value.length * 8; bit += 1) {
        const rawHeaders = delivery.rawHeaders.with(index, flip(value, bit))
        expect(await accepts({ rawHeaders }), `bit ${bit} of line ${index}`).toBe(false)
      }
    }
    for (let bit = 0; bit < 'data.id=123456'.length * 8; bit += 1) {
      const query = `${flip('data.id=123456', bit)}&type=payment`
      expect(await accepts({ query }), JSON.stringify(query)).toBe(false)
    }
  })
})
