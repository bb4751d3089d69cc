import { createHmac } from 'node:crypto'
import { WebhookSignatureValidator } from 'mercadopago'
import { describe, expect, it } from 'vitest'
import { makeProvider, onlyEvent } from '../../testing/make-provider.ts'

const secret = 'the_secret_of_mercado_pago'
const seconds = 1_760_000_000
const requestId = 'bb56a2f1-6aae-46ac-982e-9dcd3581d08e'
const fetchSettings = { baseUrl: 'https://api.mercadopago.com', token: 'APP_USR-0001' }
const provider = makeProvider({
  settings: { scheme: 'mercadopago', fetch: fetchSettings },
  secrets: [{ value: secret }],
})

function headerFor(signedId: string): string {
  const manifest = `id:${signedId};request-id:${requestId};ts:${seconds};`
  return `ts=${seconds},v1=${createHmac('sha256', secret).update(manifest).digest('hex')}`
}

/** The id of the event as it is received; undefined if the delivery is refused. */
async function idOf(received: string, signedId: string): Promise<string | undefined> {
  const rawHeaders = ['x-signature', headerFor(signedId), 'x-request-id', requestId]
  const delivery = { rawBody: Buffer.from('{"type":"order"}'), rawHeaders, query: `data.id=${received}&type=order` }
  const verdict = await provider.verify(delivery, seconds * 1_000, fetch)
  return 'refused' in verdict ? undefined : onlyEvent(provider.readEvents(verdict)).id
}

const ORDER = 'ORD01JQ4S4KY8HWQ6NA5PXB65B3D3'
const MIXED = 'PAY01jq4s4ky8HWQ6'

it.each([ORDER, MIXED, ORDER.toLowerCase(), '123456'])(
  'the id %s is accepted as received, as the library of Mercado Pago does',
  async (id) => {
    const xSignature = headerFor(id)
    await WebhookSignatureValidator.validate({ xSignature, xRequestId: requestId, dataId: id, secret })
    expect(await idOf(id, id)).toBeDefined()
  },
)

it('an id in capitals is accepted when it is signed in lower case, and is the same event', async () => {
  expect(await idOf(ORDER, ORDER.toLowerCase())).toBeDefined()
  expect(await idOf(ORDER, ORDER.toLowerCase())).toBe(await idOf(ORDER, ORDER))
})

it.each([
  ['in capitals, received in lower case', ORDER.toLowerCase(), ORDER],
  ['in another case', MIXED, MIXED.toUpperCase()],
  ['of another order', ORDER, `${ORDER}X`],
])('an id that was signed %s is refused', async (_, received, signedId) => {
  expect(await idOf(received, signedId)).toBeUndefined()
})

it('the signature fits with no bit of it, of its time, of the request or of the id changed', async () => {
  const flip = (text: string, bit: number): string => {
    const bytes = Buffer.from(text, 'latin1')
    bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    return bytes.toString('latin1')
  }
  const rawHeaders = ['x-signature', headerFor('123456'), 'x-request-id', requestId]
  const delivery = { rawBody: Buffer.from('{"type":"payment"}'), rawHeaders, query: 'data.id=123456' }
  const accepts = async (changed: Partial<typeof delivery>): Promise<boolean> =>
    'secretId' in (await provider.verify({ ...delivery, ...changed }, seconds * 1_000, fetch))
  expect(await accepts({})).toBe(true)
  for (const [index, value] of [rawHeaders[1] ?? '', requestId].entries()) {
    for (let bit = 0; bit < value.length * 8; bit += 1) {
      const changed = rawHeaders.with(2 * index + 1, flip(value, bit))
      expect(await accepts({ rawHeaders: changed }), `bit ${bit} of line ${index}`).toBe(false)
    }
  }
  for (let bit = 0; bit < delivery.query.length * 8; bit += 1) {
    const query = flip(delivery.query, bit)
    expect(await accepts({ query }), JSON.stringify(query)).toBe(false)
  }
})

describe('a notification', () => {
  const payment = {
    ...{ id: 2, status: 'approved', transaction_amount: 58.8, currency_id: 'BRL', external_reference: 'ord_0001' },
    ...{ transaction_amount_refunded: 0, date_last_updated: '2026-01-01T00:00:00.000-04:00' },
  }
  let asked = 0

  /** What becomes of it, by what Mercado Pago answers. */
  async function judge(answer: object, { status = 200, type = 'payment', body = {} }: Judged = {}) {
    const ask: typeof fetch = async () => {
      asked += 1
      return Response.json(answer, { status })
    }
    const rawHeaders = ['x-signature', headerFor('2'), 'x-request-id', requestId]
    const rawBody = Buffer.from(JSON.stringify({ type, ...body }))
    const verdict = await provider.verify({ rawBody, rawHeaders, query: 'data.id=2' }, seconds * 1_000, ask)
    if ('refused' in verdict) throw new Error(verdict.refused)
    return await provider.confirm?.(onlyEvent(provider.readEvents(verdict)), ask)
  }

  it.each([
    ['payment:2:pending', 'payment.pending', { status: 'pending' }],
    ['payment:2:approved', 'payment.succeeded', {}],
    ['payment:2:approved:refunded-10.5', 'payment.succeeded', { transaction_amount_refunded: 10.5 }],
    ['payment:2:refunded:refunded-58.8', 'payment.refunded', { status: 'refunded', transaction_amount_refunded: 58.8 }],
    ['payment:2:charged_back', 'payment.charged_back', { status: 'charged_back' }],
  ])('is one event for each state of the payment, whatever its body says: %s', async (id, type, state) => {
    const body = { action: 'payment.approved', data: { id: '1', status: 'approved' }, status: 'approved' }
    expect(await judge({ ...payment, ...state }, { body })).toMatchObject({ event: { id, type, objectId: '2' } })
  })

  it('of another topic has no effect, and one id by its signed content', async () => {
    const before = asked
    const [first, second] = [
      await judge({}, { type: 'merchant_order' }),
      await judge({}, { type: 'payment.succeeded' }),
    ]
    expect(first).toMatchObject({ event: { id: `2:${requestId}`, type: 'merchant_order' } })
    expect(second).toMatchObject({ event: { id: `2:${requestId}`, type: expect.not.stringMatching(/succeeded$/) } })
    expect(asked).toBe(before)
  })

  it('counts for nothing if Mercado Pago does not know its payment, answers for another, or not now', async () => {
    expect(await judge({}, { status: 404 })).toEqual({ refused: 'object_unknown' })
    expect(await judge({ ...payment, id: 7 })).toEqual({ refused: 'object_unknown' })
    await expect(judge({}, { status: 503 })).rejects.toMatchObject({ code: 'unavailable' })
  })
})

interface Judged {
  readonly status?: number
  readonly type?: string
  readonly body?: object
}
