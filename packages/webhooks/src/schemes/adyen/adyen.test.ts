import { createHmac } from 'node:crypto'
import { hmacValidator as HmacValidator } from '@adyen/api-library'
import { describe, expect, it } from 'vitest'
import { createVerifier } from '../../create-verifier.ts'
import { makeProvider, onlyEvent } from '../../testing/make-provider.ts'

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

  it('takes the items that hold, and names the others', async () => {
    const [good, bad] = [itemWith(0), { ...itemWith(0), pspReference: 'psp_2' }]
    expect(await verdictOf(bodyOf([bad, good, bad]))).toMatchObject({ secretId: 's1', refusedItems: [0, 2] })
    expect(await verdictOf(bodyOf([bad]))).toEqual({ refused: 'signature_mismatch' })
    const verifier = createVerifier({ scheme: 'adyen', secrets: secret })
    expect(await verifier.verify({ rawBody: bodyOf([bad, good]), headers: {} })).toMatchObject({
      ...{ outcome: 'verified', status: 401, refusedItems: [0] },
      events: [{ objectId: 'psp_1', facts: { pointer: '/notificationItems/1/NotificationRequestItem' } }],
    })
  })

  it('parses no body of more parts than its bytes can mean, and any of up to a thousand', async () => {
    const more = (parts: number) => ({ x: Array.from({ length: parts }, () => ({})) })
    expect(await verdictOf(bodyOf([itemWith(0)], more(490)))).toHaveProperty('secretId', 's1')
    expect(await verdictOf(bodyOf([itemWith(0)], more(2_000)))).toEqual({ refused: 'header_missing' })
  })
})

describe('an item of Adyen whose signature would fit another item too', () => {
  const settings = { scheme: 'adyen', expect: {}, events: { REPORT_AVAILABLE: 'payment.succeeded' } }
  const mapped = makeProvider({ settings, secrets: [{ value: secret }] })
  const library = new HmacValidator()
  const report = {
    ...{ pspReference: 'report_1.csv', merchantAccountCode: 'Acme', merchantReference: '', success: 'true' },
    ...{ eventCode: 'AUTHORISATION', amount: { currency: 'EUR', value: 100 }, additionalData: {} },
  }

  /** The events of items that Adyen's own library has signed, and the verdict of this library. */
  async function read(changes: object, hmacSignature?: string) {
    const item = { ...report, ...changes } as Parameters<typeof library.calculateHmac>[0] & object
    const signed = { ...item, additionalData: { hmacSignature: hmacSignature ?? library.calculateHmac(item, secret) } }
    expect(library.validateHMAC(signed as Parameters<typeof library.validateHMAC>[0], secret)).toBe(true)
    const verdict = await mapped.verify({ rawBody: Buffer.from(bodyOf([signed])), rawHeaders: [], query: '' }, 0, fetch)
    if ('refused' in verdict) throw new Error(verdict.refused)
    return onlyEvent(mapped.readEvents(verdict))
  }

  it.each([
    [
      'a report whose name contains times',
      { pspReference: 'report_2022-11-01T00:00:00.csv', eventCode: 'REPORT_AVAILABLE' },
    ],
    ['an original reference with a colon', { originalReference: 'a:b' }],
    ['an account with a colon', { merchantAccountCode: 'Acme:EU' }],
    ['an event code with a colon', { eventCode: 'AUTHORISATION:x' }],
    ['a success that is no boolean', { success: '' }],
    ['a currency in small letters', { amount: { currency: 'eur', value: 100 } }],
  ])('is accepted without effect: %s', async (_, changes) => {
    const { type, facts } = await read(changes)
    expect(facts.withheld).toBe('ambiguous')
    expect(facts).not.toHaveProperty('amount')
    expect(['payment.failed', 'AUTHORISATION.true']).not.toContain(type)
  })

  it('is not one without such a colon, nor with colons in the reference alone', async () => {
    expect((await read({ eventCode: 'REPORT_AVAILABLE' })).facts.withheld).toBeUndefined()
    expect(await read({ merchantReference: 'a:b:c' })).toMatchObject({
      type: 'payment.succeeded',
      facts: { orderId: 'a:b:c' },
    })
  })

  it('cannot take the place of the payment whose signature it has', async () => {
    const genuine = { pspReference: 'P', merchantReference: 'b:c' }
    const signature = library.calculateHmac(
      { ...report, ...genuine } as Parameters<typeof library.calculateHmac>[0],
      secret,
    )
    const splits = [
      { pspReference: 'P', merchantAccountCode: 'Acme:b', merchantReference: 'c' },
      { pspReference: 'P', originalReference: ':Acme', merchantAccountCode: 'b', merchantReference: 'c' },
    ]
    const paid = await read(genuine, signature)
    expect(paid).toMatchObject({ type: 'payment.succeeded', objectId: 'P' })
    const forged = await Promise.all(splits.map((split) => read(split, signature)))
    expect(forged.map(({ facts }) => facts.withheld)).toEqual(['ambiguous', 'ambiguous'])
    expect(forged[0]?.id).toBe(forged[1]?.id)
    expect(forged[0]?.id).not.toBe(paid.id)
  })
})
