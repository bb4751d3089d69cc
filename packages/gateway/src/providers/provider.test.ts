import { readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import Stripe from 'stripe'
import { Webhook as SvixWebhook } from 'svix'
import { describe, expect, it } from 'vitest'
import { makeProvider } from '../testing/make-provider.ts'
import type { Delivery } from './delivery.ts'
import type { Provider } from './provider.ts'
import { SCHEMES } from './schemes.ts'

interface Vector {
  readonly why: string
  readonly verdict: 'accepted' | 'refused'
  readonly settings?: Record<string, unknown>
  readonly secret: string
  readonly notAfter?: string
  readonly now: number
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly query?: string
  readonly body: string
}

const FOLDER = new URL('../../../../contracts/vectors/', import.meta.url)
const files = readdirSync(FOLDER).map(
  (name) => JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8')) as { scheme: string; cases: Vector[] },
)

const now = 1_760_000_000_000
const body = Buffer.from(
  '{"id":"evt_0001","type":"payment.succeeded","data":{"object":{"id":"pay_0001","note":"café 10 €"}}}',
)
const whsec = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8='

function deliver(rawBody: Buffer, headers: Readonly<Record<string, string>>): Delivery {
  return { rawBody, rawHeaders: Object.entries(headers).flat(), query: '' }
}

describe('createProvider', () => {
  it('has vectors for every scheme', () => {
    expect(files.map(({ scheme }) => scheme)).toEqual(expect.arrayContaining([...SCHEMES.keys()]))
  })

  describe.each(files)('with the vectors of $scheme', ({ scheme, cases }) => {
    it.each(cases)('$verdict: $why', ({ settings, secret, notAfter, verdict, ...sent }) => {
      const provider = makeProvider({
        settings: { scheme, ...settings },
        secrets: [{ value: secret, ...(notAfter === undefined ? {} : { notAfter }) }],
      })
      const rawBody = Buffer.from(sent.body, 'base64')
      const result = provider.verify(
        { rawBody, rawHeaders: sent.headers.flat(), query: sent.query ?? '' },
        sent.now * 1000,
      )
      if (verdict === 'refused') expect(result).toEqual({ refused: expect.any(String) })
      else expect(result).toMatchObject({ secretId: 's1', rawBody })
    })
  })

  describe('with the official libraries', () => {
    const seconds = now / 1000
    const changed = Buffer.from(body)
    changed[30] = (changed[30] ?? 0) ^ 1

    it('accepts what stripe signs, and refuses it with one byte changed', () => {
      const provider = makeProvider({ settings: { scheme: 'stripe' }, secrets: [{ value: 'whsec_test_secret' }] })
      const webhooks = new Stripe('sk_test_unused').webhooks
      const header = webhooks.generateTestHeaderString({
        payload: body.toString(),
        secret: 'whsec_test_secret',
        timestamp: seconds,
      })
      expect(provider.verify(deliver(body, { 'stripe-signature': header }), now)).toHaveProperty('secretId')
      expect(provider.verify(deliver(changed, { 'stripe-signature': header }), now)).toEqual({
        refused: 'signature_mismatch',
      })
    })

    it.each([
      ['standardwebhooks', new StandardWebhook(whsec), 'webhook'],
      ['svix', new SvixWebhook(whsec), 'svix'],
    ] as const)('accepts what %s signs, and refuses it with one byte changed', (_, library, family) => {
      const provider = makeProvider({ settings: { scheme: 'standard-webhooks' }, secrets: [{ value: whsec }] })
      const headers = {
        [`${family}-id`]: 'msg_0001',
        [`${family}-timestamp`]: String(seconds),
        [`${family}-signature`]: library.sign('msg_0001', new Date(now), body.toString()),
      }
      expect(provider.verify(deliver(body, headers), now)).toMatchObject({ secretId: 's1', signedId: 'msg_0001' })
      expect(provider.verify(deliver(changed, headers), now)).toEqual({ refused: 'signature_mismatch' })
    })
  })

  describe('with several secrets', () => {
    const signedWith = (secret: string) =>
      deliver(body, {
        'stripe-signature': new Stripe('sk_test_unused').webhooks.generateTestHeaderString({
          payload: body.toString(),
          secret,
          timestamp: now / 1000,
        }),
      })
    const secrets = [
      { value: 'whsec_the_new_secret' },
      { value: 'whsec_the_old_secret', notAfter: new Date(now + 1).toISOString() },
    ]

    it('tells which one signed', () => {
      const provider = makeProvider({ settings: { scheme: 'stripe' }, secrets })
      expect(provider.verify(signedWith('whsec_the_new_secret'), now)).toMatchObject({ secretId: 's1' })
      expect(provider.verify(signedWith('whsec_the_old_secret'), now)).toMatchObject({ secretId: 's2' })
    })

    it('takes an old one until its time has come, the new one after it too', () => {
      const provider = makeProvider({ settings: { scheme: 'stripe' }, secrets })
      expect(provider.verify(signedWith('whsec_the_old_secret'), now + 1)).toEqual({ refused: 'signature_mismatch' })
      expect(provider.verify(signedWith('whsec_the_new_secret'), now + 1)).toMatchObject({ secretId: 's1' })
    })
  })
})

/** One accepted delivery of each scheme, from the vectors; the properties below spoil it. */
const accepted: readonly (readonly [string, Provider, Delivery])[] = [
  ['stripe', { scheme: 'stripe' }, 'signed as the provider signs'],
  ['standard-webhooks', { scheme: 'standard-webhooks' }, 'signed as the specification says'],
  ['hmac', { scheme: 'hmac' }, 'the time and the body in a text, as Slack signs'],
].map(([scheme, settings, why]) => {
  const vector = files.find((file) => file.scheme === scheme)?.cases.find((one) => one.why === why)
  if (vector === undefined) throw new Error(`No vector ${why}`)
  const provider = makeProvider({
    settings: { ...(settings as { scheme: string }), ...vector.settings },
    secrets: [{ value: vector.secret }],
  })
  return [scheme as string, provider, { rawBody: body, rawHeaders: vector.headers.flat(), query: '' }] as const
})

describe.each(accepted)('verify of %s', (_, provider, delivery) => {
  const signed = delivery.rawHeaders.map((text, index) => ({ text, index })).filter(({ index }) => index % 2 === 1)

  it('refuses a body with any one bit changed', () => {
    expect(provider.verify(delivery, now)).toHaveProperty('secretId')
    for (let bit = 0; bit < body.length * 8; bit += 1) {
      const rawBody = Buffer.from(body)
      rawBody[bit >> 3] = (rawBody[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      expect(provider.verify({ ...delivery, rawBody }, now)).toHaveProperty('refused')
    }
  })

  it.each(signed)('refuses header line $index with any one bit changed', ({ text, index }) => {
    for (let bit = 0; bit < text.length * 8; bit += 1) {
      const bytes = Buffer.from(text, 'latin1')
      bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      const rawHeaders = delivery.rawHeaders.with(index, bytes.toString('latin1'))
      expect(provider.verify({ ...delivery, rawHeaders }, now)).toHaveProperty('refused')
    }
  })

  it.each(signed)('refuses header line $index cut short or made longer anywhere', ({ text, index }) => {
    fc.assert(
      fc.property(
        fc.nat(text.length),
        fc.nat(4),
        fc.string({ unit: 'binary', maxLength: 4 }),
        (at, removed, inserted) => {
          const value = text.slice(0, at) + inserted + text.slice(at + removed)
          fc.pre(value !== text)
          const rawHeaders = delivery.rawHeaders.with(index, value)
          // What only adds further, unknown members of a list may still be authentic.
          fc.pre(!/[ ,]/.test(inserted))
          expect(provider.verify({ ...delivery, rawHeaders }, now)).toHaveProperty('refused')
        },
      ),
    )
  })

  it('refuses every moment outside the window and no moment inside', () => {
    fc.assert(
      fc.property(fc.integer({ min: -1_000_000, max: 1_000_000 }), (awayMs) => {
        const outside = Math.abs(awayMs) > 300_000
        expect('refused' in provider.verify(delivery, now + awayMs)).toBe(outside)
      }),
    )
  })

  it('refuses any garbage in its headers and never throws', () => {
    const names = delivery.rawHeaders.filter((_, index) => index % 2 === 0)
    const line = fc.tuple(
      fc.oneof(fc.constantFrom(...names), fc.string()),
      fc.oneof(
        fc.string({ unit: 'binary' }),
        fc
          .constantFrom(...signed.map(({ text }) => text))
          .chain((text) => fc.constantFrom(text, `${text},`, ` ${text}`)),
        fc.stringMatching(/^(t=\d{10}|v1[=,]|,| |=|[0-9a-f]{64})*$/),
      ),
    )
    fc.assert(
      fc.property(fc.array(line, { maxLength: 8 }), fc.uint8Array({ maxLength: 64 }), (lines, bytes) => {
        const result = provider.verify({ rawBody: Buffer.from(bytes), rawHeaders: lines.flat(), query: '' }, now)
        expect(result).toHaveProperty('refused')
      }),
      { numRuns: 500 },
    )
  })

  it('is not disturbed by other headers, nor by their order', () => {
    const lines = delivery.rawHeaders.flatMap((name, index) =>
      index % 2 === 0 ? [[name, delivery.rawHeaders[index + 1] ?? '']] : [],
    )
    const all = [...lines, ['host', 'x'], ['__proto__', 'x'], ['constructor', 'x'], ['', '']]
    fc.assert(
      fc.property(fc.shuffledSubarray(all, { minLength: all.length }), (shuffled) => {
        expect(provider.verify({ ...delivery, rawHeaders: shuffled.flat() }, now)).toHaveProperty('secretId')
      }),
    )
  })
})
