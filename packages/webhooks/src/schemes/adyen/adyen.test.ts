import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { makeProvider } from '../../testing/make-provider.ts'

const secret = '000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f'
const provider = makeProvider({ settings: { scheme: 'adyen' }, secrets: [{ value: secret }] })

/** A genuine item with this number of further properties, each as short as Adyen ever writes one. */
function itemWith(members: number): object {
  const signed = 'psp_1::Acme:ord_1:100:EUR:AUTHORISATION:true'
  const hmacSignature = createHmac('sha256', Buffer.from(secret, 'hex')).update(signed).digest('base64')
  const others = Object.fromEntries(Array.from({ length: members }, (_, n) => [`member${n}`, 'x']))
  return {
    ...{ pspReference: 'psp_1', merchantAccountCode: 'Acme', merchantReference: 'ord_1', eventCode: 'AUTHORISATION' },
    ...{ success: 'true', amount: { value: 100, currency: 'EUR' }, additionalData: { hmacSignature, ...others } },
  }
}

async function verdictOf(body: string) {
  return await provider.verify({ rawBody: Buffer.from(body), rawHeaders: [], query: '' }, 0, fetch)
}

function bodyOf(items: readonly object[], more: object = {}): string {
  return JSON.stringify({ notificationItems: items.map((item) => ({ NotificationRequestItem: item })), ...more })
}

describe('adyen', () => {
  it.each([
    ['one item of a few members', 1, 5],
    ['250 items of some dozens of members', 250, 20],
    ['one item of 64 KiB', 1, 3_500],
    ['a hundred items of 80 members', 100, 80],
  ])('takes %s', async (_, items, members) => {
    const body = bodyOf(Array.from({ length: items }, () => itemWith(members)))
    expect(body.length).toBeLessThanOrEqual(196_608)
    expect(await verdictOf(body)).toHaveProperty('secretId', 's1')
  })

  it('parses no body of more parts than its bytes can mean, and any of up to a thousand', async () => {
    const more = (parts: number) => ({ x: Array.from({ length: parts }, () => ({})) })
    expect(await verdictOf(bodyOf([itemWith(0)], more(490)))).toHaveProperty('secretId', 's1')
    expect(await verdictOf(bodyOf([itemWith(0)], more(2_000)))).toEqual({ refused: 'header_missing' })
  })
})
