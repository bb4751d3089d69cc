import { describe, expect, it } from 'vitest'
import { makeProvider, onlyEvent } from '../../testing/make-provider.ts'

const settings = { scheme: 'mollie-classic', fetch: { baseUrl: 'https://api.mollie.com/v2', token: 'live_key_0001' } }
const provider = makeProvider({ settings, secrets: [] })

const EUR = (value: string) => ({ value, currency: 'EUR' })
const paid = {
  ...{ resource: 'payment', status: 'paid', amount: EUR('19.99'), paidAt: '2026-01-01T10:00:00+00:00' },
  ...{ amountRefunded: EUR('0.00'), metadata: { order_id: 'ord_0001' } },
}
const asked: string[] = []

/** What becomes of a call with this body, by what Mollie answers about a payment. */
async function judge(body: string | Buffer, answer: object = {}) {
  const ask: typeof fetch = async (url) => {
    asked.push(String(url))
    return Response.json(answer)
  }
  const verdict = await provider.verify({ rawBody: Buffer.from(body), rawHeaders: [], query: '' }, 0, ask)
  if ('refused' in verdict) return verdict
  return await provider.confirm?.(onlyEvent(provider.readEvents(verdict)), ask)
}

describe('a call of Mollie', () => {
  it.each(['', 'tr_', 'tr_1/../../customers', 'cst_1', 'tr_1?x=1', '../payments/tr_paid'])(
    'makes no call if the id cannot be one: %s',
    async (id) => {
      const before = asked.length
      expect(await judge(`id=${encodeURIComponent(id)}`)).toEqual({ refused: 'header_malformed' })
      expect(asked).toHaveLength(before)
    },
  )

  const refunded = { amountRefunded: EUR('19.99') }

  // Each has its own payment: one is asked about once a second at most.
  it.each([
    [':open', 'payment.open', { status: 'open' }],
    [':paid', 'payment.succeeded', {}],
    [':paid:refunded-500', 'payment.succeeded', { amountRefunded: EUR('5.00') }],
    [':paid:refunded-1999', 'payment.refunded', refunded],
    [':paid:refunded-1999:charged_back-1999', 'payment.charged_back', { ...refunded, amountChargedBack: EUR('19.99') }],
  ])('is one event for each state of the payment, whatever else it says: %s', async (state, type, members) => {
    const id = `tr_${asked.length}`
    const told = await judge(`id=${id}&status=paid&type=payment.succeeded&amount=1`, { ...paid, ...members, id })
    expect(told).toMatchObject({ event: { id: `${id}${state}`, type, objectId: id } })
    expect(asked.at(-1)).toBe(`https://api.mollie.com/v2/payments/${id}`)
  })

  it('counts for nothing if the answer is of another payment', async () => {
    expect(await judge('id=tr_asked', { ...paid, id: 'tr_another' })).toEqual({ refused: 'object_unknown' })
  })

  it('never counts for the payment that was called with any one bit changed', async () => {
    const body = Buffer.from('id=tr_paid')
    for (let bit = 0; bit < body.length * 8; bit += 1) {
      const rawBody = Buffer.from(body)
      rawBody[bit >> 3] = (rawBody[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      const told = await judge(rawBody, { ...paid, id: 'tr_paid' })
      expect(told, `bit ${bit}`).toHaveProperty('refused')
    }
  })
})
