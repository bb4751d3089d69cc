import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Delivery } from '../delivery.ts'
import type { Provider } from '../provider.ts'
import { deliveryOf, providerOf, readVectorFiles } from '../testing/vectors.ts'
import { SCHEMES } from './schemes.ts'

interface Authentic {
  readonly name: string
  readonly provider: Provider
  readonly delivery: Delivery
  /** Milliseconds. */
  readonly now: number
}

/**
 * The deliveries that hold nothing but what is signed: by their names, which the vectors promise. A scheme whose events
 * the provider has to confirm signs too little for any of this.
 */
const authentic: readonly Authentic[] = readVectorFiles().flatMap(({ scheme, cases }) =>
  cases
    .filter(({ verdict, why }) => verdict === 'accepted' && /^signed as |, as \w+ signs$/.test(why))
    .map((vector) => ({
      name: `${scheme}, ${vector.why}`,
      provider: providerOf(scheme, vector),
      delivery: deliveryOf(vector),
      now: vector.now * 1_000,
    }))
    .filter(({ provider }) => provider.confirm === undefined),
)

/** Whether a delivery is accepted as authentic. Any exception fails the test. */
async function accepts({ provider, now }: Authentic, delivery: Delivery): Promise<boolean> {
  return 'secretId' in (await provider.verify(delivery, now, fetch))
}

function flipBit(bytes: Buffer, bit: number): Buffer {
  const changed = Buffer.from(bytes)
  changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
  return changed
}

/** The places of the values in a list of names and values. */
function valuePlaces({ rawHeaders }: Delivery): number[] {
  return rawHeaders.map((_, index) => index).filter((index) => index % 2 === 1)
}

/** Schemes that sign only a part of a delivery have separate tests: signed-members.test.ts, and one for each scheme. */
const PARTLY = ['adyen', 'app-store', 'braintree', 'flutterwave', 'mercadopago', 'mollie-classic', 'paypal', 'sns']

it('tries every scheme, but for those that sign only a part', () => {
  const tried = new Set(authentic.map(({ provider }) => provider.scheme))
  expect([...tried, ...PARTLY].toSorted()).toEqual([...SCHEMES.keys()].toSorted())
})

it('tries Twilio with queries, of a form and of JSON', () => {
  const queries = authentic.filter(({ provider }) => provider.scheme === 'twilio').map(({ delivery }) => delivery.query)
  expect(queries).toEqual([expect.stringMatching(/./), expect.stringContaining('bodySHA256=')])
})

describe.each(authentic)('verify of $name', (one) => {
  const { delivery, provider, now } = one
  const values = valuePlaces(delivery).map((index) => ({ index, text: delivery.rawHeaders[index] ?? '' }))

  it('accepts the delivery as it is', async () => {
    expect(await accepts(one, delivery)).toBe(true)
  })

  it('refuses a body with any one bit changed', async () => {
    for (let bit = 0; bit < delivery.rawBody.length * 8; bit += 1) {
      expect(await accepts(one, { ...delivery, rawBody: flipBit(delivery.rawBody, bit) }), `bit ${bit}`).toBe(false)
    }
  })

  // Only Twilio signs the query as it was sent.
  if (provider.scheme === 'twilio') {
    it('refuses a query with any one bit changed, cut off or added', async () => {
      const { query } = delivery
      for (let bit = 0; bit < query.length * 8; bit += 1) {
        const changed = flipBit(Buffer.from(query, 'latin1'), bit).toString('latin1')
        expect(await accepts(one, { ...delivery, query: changed }), JSON.stringify(changed)).toBe(false)
      }
      for (const changed of ['', query.slice(1), query.slice(0, -1), `${query}&a=b`]) {
        expect(await accepts(one, { ...delivery, query: changed }), JSON.stringify(changed)).toBe(false)
      }
    })
  }

  it.each(values)('refuses header line $index with any one bit changed', async ({ index, text }) => {
    for (let bit = 0; bit < text.length * 8; bit += 1) {
      const value = flipBit(Buffer.from(text, 'latin1'), bit).toString('latin1')
      const rawHeaders = delivery.rawHeaders.with(index, value)
      expect(await accepts(one, { ...delivery, rawHeaders }), JSON.stringify(value)).toBe(false)
    }
  })

  it.each(values)('refuses header line $index cut short or made longer anywhere', async ({ index, text }) => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(text.length),
        fc.nat(4),
        fc.string({ unit: 'binary', maxLength: 4 }),
        async (at, removed, inserted) => {
          const value = text.slice(0, at) + inserted + text.slice(at + removed)
          // A change that only adds unknown items to a list may still be authentic.
          fc.pre(value !== text && !/[ ,;]/.test(inserted))
          // The generic scheme reads base64 without its padding too.
          fc.pre(provider.scheme !== 'hmac' || value !== text.replace(/=$/, ''))
          const rawHeaders = delivery.rawHeaders.with(index, value)
          expect(await accepts(one, { ...delivery, rawHeaders })).toBe(false)
        },
      ),
    )
  })

  it.each(values)('refuses header line $index missing or sent twice', async ({ index }) => {
    const line = delivery.rawHeaders.slice(index - 1, index + 1)
    const without = delivery.rawHeaders.toSpliced(index - 1, 2)
    expect(await accepts(one, { ...delivery, rawHeaders: without })).toBe(false)
    expect(await accepts(one, { ...delivery, rawHeaders: [...delivery.rawHeaders, ...line] })).toBe(false)
  })

  if (provider.signsTime) {
    it('refuses every moment outside the window and no moment inside', async () => {
      await fc.assert(
        fc.asyncProperty(fc.integer({ min: -1_000_000, max: 1_000_000 }), async (awayMs) => {
          const taken = await accepts({ ...one, now: now + awayMs }, delivery)
          expect(taken).toBe(Math.abs(awayMs) <= 300_000)
        }),
      )
    })
  }

  it('is not disturbed by other headers, nor by their order', async () => {
    const lines = values.map(({ index, text }) => [delivery.rawHeaders[index - 1] ?? '', text])
    const all = [...lines, ['host', 'x'], ['__proto__', 'x'], ['constructor', 'x'], ['', '']]
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray(all, { minLength: all.length }), async (shuffled) => {
        expect(await accepts(one, { ...delivery, rawHeaders: shuffled.flat() })).toBe(true)
      }),
    )
  })
})
