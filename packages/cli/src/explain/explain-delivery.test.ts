import { headerFamiliesOf } from '@oncehook/gateway/webhooks/providers/observe'
import { describe, expect, it } from 'vitest'
import {
  all,
  type Delivered,
  deliver,
  expectProved,
  explain,
  NOW,
  overBytes,
  signing,
  toKnown,
  URL,
  withBody,
  withHeaders,
} from '../testing/explained-delivery.ts'

describe('explain', () => {
  it.each(all)('knows the headers of %s and reports nothing about a correct delivery', async (scheme) => {
    const one = await deliver(scheme)
    const names = new Set(one.delivery.rawHeaders.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase()))
    const families = headerFamiliesOf(toKnown(one).settings)
    expect(families.length === 0 || families.some((family) => family.every((name) => names.has(name)))).toBe(true)
    expect(await explain(one)).toMatchObject({
      acceptedBy: scheme === 'mollie-classic' ? 'unsigned' : 's1',
      causes: [],
    })
  })

  it.each(signing)(
    'finds the secret of another environment by which %s signed, and no cause without it',
    async (scheme) => {
      const [test, live] = [await deliver(scheme), await deliver(scheme)]
      const mixed = { ...live, delivery: test.delivery }
      const message = await expectProved(mixed, 'wrong_provider', { others: [toKnown(test, 'shop-test')] })
      expect(message).toContain('shop-test')
      const { causes } = await explain(mixed)
      expect(causes.filter(({ proved }) => proved)).toEqual([])
      expect(causes.at(-1)?.cause).toBe('unknown')
    },
  )

  it('says how wrong the clock is, and finds another fault besides', async () => {
    const one = await deliver('stripe')
    const old = await expectProved(one, 'clock', { now: NOW + 720_000 })
    expect(old).toBe('The signed time is 12 min old (720 s), but the tolerance is 300 s')
    expect(await expectProved(one, 'clock', { now: NOW - 301_000 })).toContain('5 min ahead (301 s)')
    const { causes } = await explain(
      withBody(one, (text) => `${text}\n`),
      { now: NOW + 86_400_000 },
    )
    expect(causes.map(({ cause, proved }) => [cause, proved])).toEqual([
      ['clock', true],
      ['body_changed', true],
    ])
  })

  it('knows that PayPal repeats deliveries for a month', async () => {
    const now = NOW + 31 * 86_400_000
    expect(await expectProved(await deliver('paypal'), 'clock', { now })).toContain('the tolerance is 2592000 s')
  })

  it('names the scheme of the headers even if the secret is not its own', async () => {
    const one = await deliver('stripe')
    const { causes } = await explain({ ...one, scheme: 'github', value: 'another secret altogether' })
    expect(causes.map(({ cause }) => cause)).toEqual(['header_missing', 'wrong_scheme', 'test_mode'])
    expect(causes[1]!.message).toBe('The headers belong to stripe, but the settings have github')
  })

  it('finds a secret that has ended, and says what is wrong with one that cannot be read', async () => {
    const message = await expectProved(await deliver('stripe'), 'secret_ended', { notAfter: '2025-01-01T00:00:00Z' })
    expect(message).toContain('s1')
    const { causes } = await explain({ ...(await deliver('standard-webhooks')), value: 'whsec_no*base64' })
    expect(causes[0]).toMatchObject({ cause: 'secret_unreadable', message: expect.stringContaining('s1') })
  })

  it.each(overBytes)('finds how a body of %s was changed', async (scheme) => {
    const one = await deliver(scheme)
    for (const [change, message] of [
      [(text: string) => `${text}\n`, 'a newline was added at the end'],
      [(text: string) => `\ufeff${text}`, 'a byte order mark'],
      [(text: string) => Buffer.from(text).toString('base64'), 'base64'],
      [(text: string) => JSON.stringify(JSON.parse(text), null, 2), 'parsed and serialized again'],
    ] as const) {
      const changed = withBody(one, change)
      if (changed.delivery.rawBody.equals(one.delivery.rawBody)) continue
      expect(await expectProved(changed, 'body_changed')).toContain(message)
    }
  })

  it.each([
    [JSON.stringify({ b: 1, a: ['é', '/<x>'] }, null, 2), 'with an indentation of two spaces'],
    ['{"a": 1, "b": ["x", {"c": null}]}', 'with a space after each comma and colon'],
    ['{"a":1,"b":"\\u003cx\\u003e"}', '<, > and & escaped'],
    ['{"a":1,"b":"\\/\\u00e9"}', 'slashes and non-ASCII characters escaped'],
  ])('finds how a library wrote what was signed: %s', async (signed, message) => {
    const changed = withBody(await deliver('github', signed), (text) => JSON.stringify(JSON.parse(text)))
    expect(await expectProved(changed, 'body_changed')).toContain(message)
  })

  it('finds line ends that were rewritten', async () => {
    const lf = withBody(await deliver('github', '{\r\n"a":1\r\n}'), (text) => text.replaceAll('\r', ''))
    expect(await expectProved(lf, 'body_changed')).toContain('CR LF became LF')
    const crlf = withBody(await deliver('github', '{\n"a":1\n}'), (text) => text.replaceAll('\n', '\r\n'))
    expect(await expectProved(crlf, 'body_changed')).toContain('LF became CR LF')
  })

  it.each(all.filter((scheme) => scheme !== 'mollie-classic'))('finds blanks around a secret of %s', async (scheme) => {
    const one = await deliver(scheme)
    for (const value of [`${one.value} `, `"${one.value}"`, `SECRET=${one.value}`]) {
      await expectProved({ ...one, value }, 'secret_blank')
    }
  })

  it.each([
    ['standard-webhooks', (value: string) => Buffer.from(value.slice(6), 'base64').toString('hex')],
    ['stripe', (value: string) => value.slice('whsec_'.length)],
    ['adyen', (value: string) => Buffer.from(value, 'hex').toString('base64')],
    ['discord', (value: string) => Buffer.from(value, 'hex').toString('base64')],
  ])('finds a secret of %s in the wrong encoding', async (scheme, encode) => {
    const one = await deliver(scheme)
    await expectProved({ ...one, value: encode(one.value) }, 'secret_encoding')
  })

  it.each(['hubspot', 'square', 'twilio'])('finds the address that %s signed', async (scheme) => {
    const one = await deliver(scheme)
    const at = (publicUrl: string, more: readonly string[] = []) => ({
      ...one,
      settings: { ...one.settings, publicUrl },
      delivery: { ...one.delivery, rawHeaders: [...one.delivery.rawHeaders, ...more] },
    })
    const internal = 'http://gateway.internal:8080/api/webhooks/shop'
    for (const [changed, url] of [
      [at('http://pay.example.com/api/webhooks/shop')],
      [at('https://pay.example.com/api/webhooks/shop/')],
      [at(internal, ['X-Forwarded-Host', 'pay.example.com'])],
      [at(internal), URL],
    ] as const) {
      expect(await expectProved(changed, 'url', url === undefined ? {} : { url })).toContain(`signed for ${URL}`)
    }
  })

  it('finds a query that was added in transit', async () => {
    const one = await deliver('twilio')
    const message = await expectProved({ ...one, delivery: { ...one.delivery, query: 'trace=1' } }, 'url')
    expect(message).toContain('without the query')
  })

  it.each(signing.filter((scheme) => !['adyen', 'app-store', 'braintree', 'sns'].includes(scheme)))(
    'finds missing and repeated headers of %s',
    async (scheme) => {
      const one = await deliver(scheme)
      const own = headerFamiliesOf(toKnown(one).settings).find((family) =>
        family.every((name) => one.delivery.rawHeaders.some((each) => each.toLowerCase() === name)),
      )!
      for (const header of own) {
        const isOwn = (name: string): boolean => name.toLowerCase() === header
        const without = await explain(withHeaders(one, (name, value) => (isOwn(name) ? [] : [name, value])))
        expect(without.causes[0]).toMatchObject({ cause: 'header_missing', message: expect.stringContaining(header) })
        const twice = withHeaders(one, (name, value) => (isOwn(name) ? [name, value, name, value] : [name, value]))
        expect(await expectProved(twice, 'header_repeated')).toContain('a header is repeated')
      }
    },
  )

  it.each<[string, (name: string, value: string) => readonly string[]]>([
    ['only the last line is correct', (name, value) => [name, 'sha256=00', name, value]],
    ['whitespace or quotes', (name, value) => [name, `"${value}"`]],
    ['upper case', (name, value) => [name, value.toUpperCase()]],
    ['underscores', (name, value) => [`HTTP_${name.replaceAll('-', '_')}`, value]],
  ])('finds what was done to a header: %s', async (message, change) => {
    const changed = withHeaders(await deliver('github'), (name, value) =>
      name.startsWith('X-Hub') ? change(name, value) : [name, value],
    )
    const { causes } = await explain(changed)
    expect(causes).toMatchObject([{ proved: true, message: expect.stringContaining(message) }])
  })

  it.each([
    ['github', 'stripe'],
    ['slack', 'zoom'],
    ['woocommerce', 'github'],
  ])('finds that a delivery of %s was mistaken for one of %s', async (scheme, configured) => {
    const one = await deliver(scheme)
    const { causes } = await explain({ ...one, scheme: configured, settings: {} } as Delivered, { now: NOW + 9e8 })
    expect(causes).toMatchObject([{ cause: 'wrong_scheme', proved: true, message: expect.stringContaining(scheme) }])
  })

  it.each(all)('never names a secret or a signature of %s', async (scheme) => {
    const one = await deliver(scheme)
    const { rawHeaders, rawBody } = one.delivery
    const sealed = /"hmacSignature":"([^"]+)"/.exec(rawBody.toString())?.[1] ?? ''
    const hidden = [one.value, ...rawHeaders.filter((value, at) => at % 2 === 1 && value.length >= 27), sealed]
    const spoiled = [
      withBody(one, (text) => `${text}\n`),
      withBody(one, (text) => `${text}x`),
      { ...one, value: one.value === '' ? '' : `${one.value} ` },
      withHeaders(one, (name, value) => [name, value.toUpperCase()]),
      { ...one, scheme: 'stripe', value: one.value || 'something else', settings: {} } as Delivered,
    ]
    for (const each of spoiled) {
      const told = JSON.stringify(await explain(each, { others: [toKnown(one, 'other')] }))
      for (const text of hidden.filter((value) => value !== '')) expect(told).not.toContain(text)
    }
  })
})
