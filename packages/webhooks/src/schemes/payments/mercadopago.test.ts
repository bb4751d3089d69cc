import { createHmac } from 'node:crypto'
import { WebhookSignatureValidator } from 'mercadopago'
import { expect, it } from 'vitest'
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
