import { headerFamiliesOf } from '@oncehook/gateway/providers/explain/scheme-headers'
import { findSignedTime } from '@oncehook/gateway/providers/explain/signed-time'
import { makeDevelopmentSecret } from '@oncehook/simulator/development-secret'
import type { CauseName, Delivery } from '@oncehook/webhooks/providers'
import { signDelivery } from '@oncehook/webhooks/signing/signer'
import { signers } from '@oncehook/webhooks/signing/signers'
import { parseProvidersSettings } from '@oncehook/webhooks/testing/providers-settings'
import { SAMPLE_PAYMENT } from '@oncehook/webhooks/testing/sample-payment'
import { SCHEMES } from '@oncehook/webhooks/testing/schemes'
import { describe, expect, it } from 'vitest'
import type { KnownProvider } from '../verify/known-providers.ts'
import { explainDelivery } from './explain-delivery.ts'

const NOW = 1_760_000_000_000
const URL = 'https://pay.example.com/api/webhooks/shop'

const event = { ...SAMPLE_PAYMENT, orderId: 'ord/1é', occurredAt: NOW }

/** A valid delivery, and everything needed to tamper with it. */
async function deliver(scheme: string, body?: string, more: object = {}) {
  const signer = signers.get(scheme)!
  const secret = await makeDevelopmentSecret(scheme, NOW)
  const settings = {
    ...(scheme === 'hmac' ? { header: 'x-signature', timestampHeader: 'x-timestamp' } : {}),
    ...(signer.settings.includes('publicUrl') ? { publicUrl: URL } : {}),
    ...secret.gatewaySettings,
    ...(SCHEMES.get(scheme)?.prepareConfirm === undefined
      ? {}
      : { fetch: { baseUrl: 'http://127.0.0.1', token: 'unused' } }),
  }
  const signed = signDelivery(signer, {
    body: body === undefined ? signer.writeEvent(event) : Buffer.from(body),
    secret: secret.signWith,
    now: NOW,
    eventId: 'evt_1',
    settings: { ...settings, ...more, ...secret.signerSettings },
  })
  const delivery: Delivery = {
    rawBody: Buffer.from(signed.body),
    rawHeaders: signed.headers.flat(),
    query: signed.query,
  }
  return { scheme, value: secret.value ?? '', settings, delivery }
}

type Delivered = Awaited<ReturnType<typeof deliver>>

function toKnown({ scheme, value, settings }: Pick<Delivered, 'scheme' | 'value' | 'settings'>, name = 'shop') {
  const secrets = value === '' ? [] : [{ id: 's1', value }]
  const entry = { scheme, acceptShortSecret: true, ...settings, secrets }
  return { name, settings: parseProvidersSettings({ p: entry }).p!, secretTexts: secrets.map((one) => one.value) }
}

interface Around {
  readonly others?: readonly KnownProvider[]
  readonly now?: number
  readonly url?: string
  readonly notAfter?: string
}

/** What is said of a delivery; nothing in it may be a secret or a signature. */
async function explain(one: Delivered, { others = [], now = NOW, url, notAfter }: Around = {}) {
  const asked = toKnown(one)
  const ended = notAfter === undefined ? asked.settings.secrets : [{ ...asked.settings.secrets[0]!, notAfter }]
  const known = { ...asked, settings: { ...asked.settings, secrets: ended } }
  const { delivery } = one
  const given = {
    asked: known,
    others,
    delivery,
    target: null,
    now,
    fetch,
    signedTime: findSignedTime(known.settings, delivery),
  }
  return explainDelivery(given, url)
}

function withHeaders(one: Delivered, change: (name: string, value: string) => readonly string[]): Delivered {
  const { rawHeaders } = one.delivery
  const changed = rawHeaders.flatMap((name, at) => (at % 2 === 0 ? change(name, rawHeaders[at + 1]!) : []))
  return { ...one, delivery: { ...one.delivery, rawHeaders: changed } }
}

function withBody(one: Delivered, change: (text: string) => string | Buffer): Delivered {
  const rawBody = Buffer.from(change(one.delivery.rawBody.toString()))
  return { ...one, delivery: { ...one.delivery, rawBody } }
}

async function expectProved(one: Delivered, cause: CauseName, around?: Around): Promise<string> {
  const { acceptedBy, causes } = await explain(one, around)
  expect(acceptedBy).toBeNull()
  expect(causes.map((each) => [each.cause, each.proved])).toEqual([[cause, true]])
  return causes[0]!.message
}

const all = [...SCHEMES.keys()]
const signing = all.filter((scheme) => !['mollie-classic', 'flutterwave', 'mercadopago'].includes(scheme))
/** The whole body is what is signed, byte for byte. */
const overBytes = signing.filter((scheme) => !['adyen', 'twilio'].includes(scheme))

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

  it.each(overBytes)('finds a body of %s that was parsed and written again', async (scheme) => {
    const one = await deliver(scheme)
    for (const write of [
      (text: string) => JSON.stringify(JSON.parse(text), null, 2),
      (text: string) => JSON.stringify(JSON.parse(text), null, '\t'),
      (text: string) => text.replaceAll('/', '\\/'),
      (text: string) => text.replaceAll('é', '\\u00e9'),
    ]) {
      const changed = withBody(one, write)
      if (changed.delivery.rawBody.equals(one.delivery.rawBody)) continue
      expect(await expectProved(changed, 'body_changed')).toContain('parsed and serialized again')
    }
  })

  it.each(['github', 'stripe', 'slack', 'discord'])('finds how a body of %s was signed', async (scheme) => {
    const pretty = `${JSON.stringify({ b: 1, a: ['é', '/<x>'] }, null, 2)}\n`
    const spaced = '{"a": 1, "b": ["x", {"c": null}]}'
    for (const [signed, message] of [
      [pretty, 'with an indentation of two spaces, with a final newline'],
      [spaced, 'with a space after each comma and colon'],
      ['{"a":1,"b":"\\u003cx\\u003e"}', '<, > and & escaped'],
      ['{"a":1,"b":"\\u00e9"}', 'non-ASCII characters escaped'],
    ] as const) {
      const changed = withBody(await deliver(scheme, signed), (text) => JSON.stringify(JSON.parse(text)))
      expect(await expectProved(changed, 'body_changed')).toContain(message)
    }
  })

  it.each(overBytes)('finds what was put behind, before or around a body of %s', async (scheme) => {
    const one = await deliver(scheme)
    for (const [change, message] of [
      [(text: string) => `${text}\n`, 'a newline was added at the end'],
      [(text: string) => ` ${text} `, 'whitespace was added around it'],
      [(text: string) => `\ufeff${text}`, 'a byte order mark'],
      [(text: string) => Buffer.from(text).toString('base64'), 'base64'],
      [(text: string) => JSON.stringify(text), 'as a JSON string'],
    ] as const) {
      expect(await expectProved(withBody(one, change), 'body_changed')).toContain(message)
    }
  })

  it('finds line ends that were rewritten', async () => {
    const lf = withBody(await deliver('github', '{\r\n"a":1\r\n}'), (text) => text.replaceAll('\r', ''))
    expect(await expectProved(lf, 'body_changed')).toContain('CR LF became LF')
    const crlf = withBody(await deliver('github', '{\n"a":1\n}'), (text) => text.replaceAll('\n', '\r\n'))
    expect(await expectProved(crlf, 'body_changed')).toContain('LF became CR LF')
    const cut = withBody(await deliver('github', '{"a":1}\n'), (text) => text.trim())
    expect(await expectProved(cut, 'body_changed')).toContain('the newline at the end was removed')
  })

  it.each(all.filter((scheme) => scheme !== 'mollie-classic'))(
    'finds blanks and quotes around a secret of %s',
    async (scheme) => {
      const one = await deliver(scheme)
      for (const value of [
        `${one.value} `,
        `\n${one.value}`,
        `"${one.value}"`,
        `'${one.value}'`,
        `SECRET=${one.value}`,
      ]) {
        await expectProved({ ...one, value }, 'secret_blank')
      }
    },
  )

  it.each([
    ['standard-webhooks', (value: string) => Buffer.from(value.slice(6), 'base64').toString('hex')],
    ['stripe', (value: string) => value.slice('whsec_'.length)],
    ['adyen', (value: string) => Buffer.from(value, 'hex').toString('base64')],
    ['adyen-platform', (value: string) => Buffer.from(value, 'hex').toString('base64')],
    ['github', (value: string) => value.toUpperCase()],
    ['discord', (value: string) => Buffer.from(value, 'hex').toString('base64')],
    ['sendgrid', (value: string) => Buffer.from(value, 'base64').toString('hex')],
    [
      'paddle',
      (value: string) => encodeURIComponent(`${value}`).replace(/^./, (sign) => `%${sign.charCodeAt(0).toString(16)}`),
    ],
    ['square', (value: string) => Buffer.from(value).toString('base64')],
  ])('finds a secret of %s in the wrong encoding', async (scheme, encode) => {
    const one = await deliver(scheme)
    await expectProved({ ...one, value: encode(one.value) }, 'secret_encoding')
  })

  it('finds a key that the provider decodes differently from the settings', async () => {
    const one = await deliver('hmac')
    const settings = { ...one.settings, secretEncoding: 'hex' }
    expect(await expectProved({ ...one, settings } as Delivered, 'secret_encoding')).toContain('plain text')
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

  it.each(['square', 'twilio'])('finds how the address differs that %s signed', async (scheme) => {
    const one = await deliver(scheme)
    for (const [publicUrl, message] of [
      ['http://pay.example.com/api/webhooks/shop', 'http or https'],
      ['https://pay.example.com/api/webhooks/shop/', 'trailing slash'],
      ['https://www.pay.example.com/api/webhooks/shop', 'different host'],
      ['https://pay.example.com:8080/api/webhooks/shop', 'different or omitted port'],
    ] as const) {
      const told = await expectProved({ ...one, settings: { ...one.settings, publicUrl } }, 'url')
      expect(told).toContain(message)
      expect(told).toContain(publicUrl)
    }
  })

  it.each(['square', 'twilio'])('finds the address of %s that a proxy or the option names', async (scheme) => {
    const one = await deliver(scheme)
    const settings = { ...one.settings, publicUrl: 'http://gateway.internal:8080/api/webhooks/shop' }
    const proxied = { ...one.delivery, rawHeaders: [...one.delivery.rawHeaders, 'X-Forwarded-Host', 'pay.example.com'] }
    expect(await expectProved({ ...one, settings, delivery: proxied }, 'url')).toContain('different host')
    expect(await expectProved({ ...one, settings }, 'url', { url: URL })).toContain(URL)
  })

  it('finds a query that was added in transit', async () => {
    const one = await deliver('twilio')
    const message = await expectProved({ ...one, delivery: { ...one.delivery, query: 'trace=1' } }, 'url')
    expect(message).toContain('without the query')
  })

  it.each(signing.filter((scheme) => scheme !== 'adyen'))(
    'finds missing and repeated headers of %s',
    async (scheme) => {
      const one = await deliver(scheme)
      const families = headerFamiliesOf(toKnown(one).settings)
      const own = families.find((family) =>
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

  it('finds a second, forged line of a header', async () => {
    const one = await deliver('github')
    const last = withHeaders(one, (name, value) => (name.startsWith('X-Hub') ? [name, 'sha256=00', name, value] : []))
    expect(await expectProved(last, 'header_repeated')).toContain('only the last line is correct')
  })

  it.each(['github', 'stripe', 'slack', 'paddle', 'razorpay', 'hook0'])(
    'finds what was done to the header of %s',
    async (scheme) => {
      const one = await deliver(scheme)
      const [signature] = headerFamiliesOf(toKnown(one).settings)[0]!
      for (const [change, message] of [
        [(value: string) => `"${value}"`, 'whitespace or quotes'],
        [(value: string) => encodeURIComponent(value), 'percent-encoded'],
        [(value: string) => `${signature}: ${value}`, 'contains the header name'],
      ] as const) {
        const changed = withHeaders(one, (name, value) => [
          name,
          name.toLowerCase() === signature ? change(value) : value,
        ])
        if (JSON.stringify(changed) === JSON.stringify(one)) continue
        const { acceptedBy, causes } = await explain(changed)
        if (acceptedBy === null) expect(causes[0]!.message).toContain(message)
      }
    },
  )

  it('finds signatures in capitals, without their prefix, and names with underscores', async () => {
    const one = await deliver('github')
    const onSignature = (change: (value: string) => string) =>
      withHeaders(one, (name, value) => [name, name.startsWith('X-Hub') ? change(value) : value])
    expect(
      await expectProved(
        onSignature((value) => value.toUpperCase()),
        'header_changed',
      ),
    ).toContain('upper case')
    expect(
      await expectProved(
        onSignature((value) => value.slice(7)),
        'header_changed',
      ),
    ).toContain('prefix')
    const renamed = withHeaders(one, (name, value) => [`HTTP_${name.replaceAll('-', '_')}`, value])
    expect(await expectProved(renamed, 'header_changed')).toContain('underscores')
  })

  it('finds base64 that was written for addresses or lost its end', async () => {
    const one = await deliver('shopify', '{"id":"a body whose signature has all of + and / in it","n":28}')
    const toUrl = (value: string): string => value.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
    const changed = withHeaders(one, (name, value) => [name, name.endsWith('hmac-sha256') ? toUrl(value) : value])
    expect((await explain(changed)).causes[0]).toMatchObject({ cause: 'header_changed', proved: true })
  })

  it('finds the two families of headers mixed', async () => {
    const one = await deliver('standard-webhooks')
    const mixed = withHeaders(one, (name, value) => [name === 'webhook-id' ? 'svix-id' : name, value])
    expect(await expectProved(mixed, 'header_changed')).toContain('two header families')
  })

  it.each([
    ['github', 'stripe'],
    ['stripe', 'paddle'],
    ['slack', 'zoom'],
    ['razorpay', 'mollie'],
    ['standard-webhooks', 'gitlab'],
    ['woocommerce', 'github'],
  ])('finds that a delivery of %s was mistaken for one of %s', async (scheme, configured) => {
    const one = await deliver(scheme)
    const settings = scheme === 'standard-webhooks' ? { fetch: { baseUrl: 'http://127.0.0.1', token: 'unused' } } : {}
    const value = scheme === 'standard-webhooks' ? 'another token' : one.value
    const { causes } = await explain({ ...one, scheme: configured, value, settings } as Delivered, { now: NOW + 9e8 })
    if (scheme === 'standard-webhooks') return expect(causes.length).toBeGreaterThan(0)
    expect(causes).toMatchObject([{ cause: 'wrong_scheme', proved: true, message: expect.stringContaining(scheme) }])
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
