import { headerFamiliesOf } from '@oncehook/gateway/webhooks/providers/observe'
import { describe, expect, it } from 'vitest'
import {
  all,
  type Delivered,
  deliver,
  expectProved,
  explain,
  NOW,
  signing,
  toKnown,
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

  it.each(signing)('finds that %s signed with the secret of another environment', async (scheme) => {
    const [test, live] = [await deliver(scheme), await deliver(scheme)]
    const message = await expectProved({ ...live, delivery: test.delivery }, 'wrong_provider', {
      others: [toKnown(await deliver('github'), 'elsewhere'), toKnown(test, 'shop-test')],
    })
    expect(message).toContain('shop-test')
  })

  it('suspects the test environment if nothing else helps', async () => {
    const [test, live] = [await deliver('stripe'), await deliver('stripe')]
    const { causes } = await explain({ ...live, delivery: test.delivery })
    expect(causes.map(({ cause }) => cause)).toEqual(['test_mode', 'unknown'])
  })

  it.each([
    ...['cashfree', 'discord', 'gitlab', 'hmac', 'hook0', 'mercadopago', 'paddle', 'sendgrid', 'slack'],
    ...['standard-webhooks', 'stripe', 'zoom'],
  ])('says how wrong the clock is for %s', async (scheme) => {
    const one = await deliver(scheme)
    const old = await expectProved(one, 'clock', { now: NOW + 720_000 })
    expect(old).toBe('The signed time is 12 min old (720 s), but the tolerance is 300 s')
    expect(await expectProved(one, 'clock', { now: NOW - 301_000 })).toContain('5 min ahead (301 s)')
  })

  it('knows that PayPal repeats deliveries for a month', async () => {
    const one = await deliver('paypal')
    const days = (n: number) => NOW + n * 86_400_000
    expect(await expectProved(one, 'clock', { now: days(31) })).toContain('(2678400 s), but the tolerance is 2592000 s')
    expect(await expectProved(one, 'clock', { now: NOW - 301_000 })).toContain('the tolerance is 300 s')
  })

  it('finds two faults at once', async () => {
    const one = withBody(await deliver('stripe'), (text) => `${text}\n`)
    const { causes } = await explain(one, { now: NOW + 86_400_000 })
    expect(causes.map(({ cause, proved }) => [cause, proved])).toEqual([
      ['clock', true],
      ['body_changed', true],
    ])
  })

  it('names the scheme of the headers even if the secret is not its own', async () => {
    const one = await deliver('stripe')
    const { causes } = await explain({ ...one, scheme: 'github', value: 'another secret altogether' })
    expect(causes.map(({ cause }) => cause)).toEqual(['header_missing', 'wrong_scheme', 'test_mode'])
    expect(causes[1]!.message).toBe('The headers belong to stripe, but the settings have github')
  })

  it('says that an item of Adyen has no signature, and which scheme has such bodies', async () => {
    const one = withBody(await deliver('adyen'), (text) => text.replace('"hmacSignature"', '"other"'))
    expect((await explain(one)).causes[0]!.message).toContain('additionalData.hmacSignature')
    const elsewhere = { ...(await deliver('github')), delivery: (await deliver('adyen')).delivery }
    expect((await explain(elsewhere)).causes.map(({ cause }) => cause)).toContain('wrong_scheme')
  })

  it('says that the older header of GitHub does not count', async () => {
    const one = withHeaders(await deliver('github'), () => ['X-Hub-Signature', 'sha1=00'])
    expect((await explain(one)).causes[0]!.message).toContain('only the older SHA-1 header is present')
  })

  it.each<[object, object, string]>([
    [{ encoding: 'base64' }, {}, '"encoding": "base64"'],
    [{ prefix: 'sha256=' }, {}, '"prefix": "sha256="'],
    [{}, { prefix: 'sha256=' }, '"prefix": ""'],
    [{ algorithm: 'sha1', encoding: 'base64' }, {}, '"algorithm": "sha1", "encoding": "base64"'],
    [{ signedText: '{timestamp}:{body}' }, {}, '"signedText": "{timestamp}:{body}"'],
    [{}, { timestampHeader: undefined }, '"timestampHeader": "x-timestamp"'],
  ])('finds the settings of hmac by which it was signed: %j', async (signed, configured, message) => {
    const one = await deliver('hmac', '{"id":"evt_1"}', signed)
    const settings = { header: 'x-signature', timestampHeader: 'x-timestamp', ...configured }
    expect(await expectProved({ ...one, settings: JSON.parse(JSON.stringify(settings)) }, 'settings')).toContain(
      message,
    )
  })

  it.each<[signed: object, configured: object, message: string]>([
    [{ separator: ',', timestampPrefix: 't=', prefix: 'v1=' }, { header: 'x-signature' }, '"timestampPrefix": "t="'],
    [{ separator: ';', timestampPrefix: '', encoding: 'base64' }, { header: 'x-signature' }, '"separator": ";"'],
    [{ prefix: 'v1=' }, { header: 'x-signature', separator: ',', timestampPrefix: 't=' }, '"separator": omitted'],
  ])('finds the list of hmac in which it was signed: %j', async (signed, settings, message) => {
    const one = await deliver('hmac', '{"id":"evt_1"}', { timestampHeader: undefined, ...signed })
    expect(await expectProved({ ...one, settings }, 'settings')).toContain(message)
  })

  it('says how wrong the clock is for a list of hmac, and finds another URL and query', async () => {
    const settings = { header: 'x-signature', separator: ',', timestampPrefix: 't=', prefix: 'v1=' }
    const listed = await deliver('hmac', '{"id":"evt_1"}', { timestampHeader: undefined, ...settings })
    await expectProved({ ...listed, settings }, 'clock', { now: NOW + 720_000 })
    const local = withHeaders(listed, (name, value) => [name, value.replace(/\d{10}/, '2025-10-09T08:53:20')])
    expect((await explain({ ...local, settings })).causes[0]).toMatchObject({
      cause: 'clock',
      fix: expect.stringContaining('ISO 8601 with a zone'),
    })
    const urls = { header: 'x-signature', signedText: '{url}{query}{body}', publicUrl: 'https://example.com/hook' }
    const at = { ...(await deliver('hmac', '{"id":"evt_1"}', { timestampHeader: undefined, ...urls })), settings: urls }
    await expectProved({ ...at, settings: { ...urls, publicUrl: 'https://example.com/hook/' } }, 'url')
    await expectProved({ ...at, delivery: { ...at.delivery, query: 'a=1' } }, 'url')
  })

  it('finds a secret that has ended', async () => {
    const message = await expectProved(await deliver('stripe'), 'secret_ended', { notAfter: '2025-01-01T00:00:00Z' })
    expect(message).toContain('s1')
  })

  it('says what is wrong with a secret that cannot be read', async () => {
    const { causes } = await explain({ ...(await deliver('standard-webhooks')), value: 'whsec_no*base64' })
    expect(causes[0]).toMatchObject({ cause: 'secret_unreadable', message: expect.stringContaining('s1') })
  })

  it.each(signing)('finds no other cause if %s signed with an unknown secret', async (scheme) => {
    const [one, other] = [await deliver(scheme), await deliver(scheme)]
    const { causes } = await explain({ ...one, value: other.value, settings: other.settings })
    expect(causes.filter(({ proved }) => proved)).toEqual([])
    expect(causes.at(-1)?.cause).toBe('unknown')
  })

  it('says for a provider without signatures that the body is not what it sends', async () => {
    const { causes } = await explain(withBody(await deliver('mollie-classic'), () => 'payment=1'))
    expect(causes[0]).toMatchObject({ cause: 'body_changed', proved: false })
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
