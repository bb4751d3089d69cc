import type { Delivery, Provider, VerifiedDelivery } from '@oncehook/webhooks/providers'
import { deliveryOf, providerOf, readVectorFiles, type Vector } from '@oncehook/webhooks/testing/vectors'
import { describe, expect, it } from 'vitest'
import { storedHeaders } from '../receive-webhook.ts'

/** The first delivery of a scheme that is accepted: for schemes that sign but a part of it. */
function firstOf(scheme: string): { provider: Provider; delivery: Delivery; now: number } {
  const file = readVectorFiles().find((one) => one.scheme === scheme)
  const vector: Vector | undefined = file?.cases.find(({ verdict }) => verdict === 'accepted')
  if (vector === undefined) throw new Error(`No vectors of ${scheme}`)
  return { provider: providerOf(scheme, vector), delivery: deliveryOf(vector), now: vector.now * 1_000 }
}

function flipBit(bytes: Buffer, bit: number): Buffer {
  const changed = Buffer.from(bytes)
  changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
  return changed
}

/** Every delivery that differs by one bit of the body. */
function* bodiesOf({ rawBody }: Delivery): Generator<{ bit: number; rawBody: Buffer }> {
  for (let bit = 0; bit < rawBody.length * 8; bit += 1) yield { bit, rawBody: flipBit(rawBody, bit) }
}

describe('paypal', () => {
  const { provider, delivery, now } = firstOf('paypal')
  const accepts = async (changed: Partial<Delivery>): Promise<boolean> =>
    'secretId' in (await provider.verify({ ...delivery, ...changed }, now, fetch))

  it('refuses a body with any one bit changed: its CRC is signed', async () => {
    expect(await accepts({})).toBe(true)
    for (const { bit, rawBody } of bodiesOf(delivery)) expect(await accepts({ rawBody }), `bit ${bit}`).toBe(false)
  })

  it.each(['SIG', 'ID', 'TIME'])('refuses PAYPAL-TRANSMISSION-%s with any one bit changed', async (part) => {
    const at = delivery.rawHeaders.indexOf(`PAYPAL-TRANSMISSION-${part}`) + 1
    const text = Buffer.from(delivery.rawHeaders[at] ?? '', 'latin1')
    for (let bit = 0; bit < text.length * 8; bit += 1) {
      const rawHeaders = delivery.rawHeaders.with(at, flipBit(text, bit).toString('latin1'))
      expect(await accepts({ rawHeaders }), `bit ${bit}`).toBe(false)
    }
  })
})

// A notification of the App Store is long, and each check reads its certificates: every 37th bit is tried.
describe.each([
  ['app-store', 37],
  ['braintree', 1],
  ['sns', 1],
])('%s', (scheme, step) => {
  const { provider, delivery, now } = firstOf(scheme)

  it('refuses a body with any one bit changed, unless its meaning is unchanged', async () => {
    const meaningOf = (rawBody: Buffer) =>
      provider.readEvents({ ...delivery, rawBody, secretId: 's1' } as VerifiedDelivery)
    const bodies = [...bodiesOf(delivery)].filter(({ bit }) => bit % step === 0)
    let refused = 0
    for (const { bit, rawBody } of bodies) {
      if ('refused' in (await provider.verify({ ...delivery, rawBody }, now, fetch))) refused += 1
      else expect(meaningOf(rawBody), `bit ${bit}`).toEqual(meaningOf(delivery.rawBody))
    }
    // Neither the addresses in it nor the root are signed.
    expect(refused).toBeGreaterThan(bodies.length / 2)
  })
})

describe('adyen', () => {
  const { provider, delivery, now } = firstOf('adyen')
  // When it happened is not signed, and has no effect.
  const meaningOf = (rawBody: Buffer): unknown =>
    provider
      .readEvents({ ...delivery, rawBody, secretId: 's1' } as VerifiedDelivery)
      .map(({ facts: { occurredAt: _, ...facts }, ...event }) => ({ ...event, facts }))

  it('refuses a body with any one bit changed, unless its meaning is unchanged', async () => {
    let refused = 0
    for (const { bit, rawBody } of bodiesOf(delivery)) {
      if ('refused' in (await provider.verify({ ...delivery, rawBody }, now, fetch))) refused += 1
      else expect(meaningOf(rawBody), `bit ${bit}`).toEqual(meaningOf(delivery.rawBody))
    }
    expect(refused).toBeGreaterThan(delivery.rawBody.length * 4)
  })
})

describe.each(['flutterwave', 'gitlab'])('the clear token of %s', (scheme) => {
  const cases = readVectorFiles().find((one) => one.scheme === scheme)?.cases ?? []
  const vector = cases.find(({ why }) => why.startsWith('the token, to be confirmed by the API'))

  it('is refused with any one bit changed, and confirms nothing alone', async () => {
    if (vector === undefined) throw new Error(`No vectors of ${scheme}`)
    const provider = providerOf(scheme, vector)
    const delivery = deliveryOf(vector)
    const [name = '', token = ''] = delivery.rawHeaders
    const accepts = async (value: string): Promise<boolean> =>
      'secretId' in (await provider.verify({ ...delivery, rawHeaders: [name, value] }, vector.now * 1_000, fetch))
    expect(await accepts(token)).toBe(true)
    for (let bit = 0; bit < token.length * 8; bit += 1) {
      const value = flipBit(Buffer.from(token, 'latin1'), bit).toString('latin1')
      expect(await accepts(value), `bit ${bit}`).toBe(false)
    }
    expect(provider.confirm).toBeDefined()
  })

  it('is proved by its stored headers, only over the same body and only from the store', async () => {
    if (vector === undefined) throw new Error(`No vectors of ${scheme}`)
    const provider = providerOf(scheme, vector)
    const delivery = deliveryOf(vector)
    const stored = {
      ...delivery,
      rawHeaders: Object.entries(storedHeaders(provider, delivery)).flat(),
      isStored: true,
    } as const
    const { rawHeaders, rawBody } = stored
    const verify = (one: Delivery) => provider.verify(one, vector.now * 1_000, fetch)
    expect(await verify(stored)).toHaveProperty('secretId')
    expect(await verify({ rawHeaders, rawBody, query: '' })).toEqual({ refused: 'signature_mismatch' })
    const otherBody = flipBit(rawBody, 0)
    expect(await verify({ ...stored, rawBody: otherBody })).toEqual({ refused: 'signature_mismatch' })
    const cutShort = rawHeaders.map((text) => (text.startsWith('hmac-sha256=') ? text.slice(0, -2) : text))
    expect(await verify({ ...stored, rawHeaders: cutShort })).toEqual({ refused: 'signature_mismatch' })
    expect(await verify({ ...delivery, isStored: true })).toEqual({ refused: 'header_malformed' })
  })
})

/** What these are checked with, whatever part of it is signed. */
