import { headerFamiliesOf } from '@oncehook/gateway/webhooks/providers/observe'
import { describe, expect, it } from 'vitest'
import {
  type Delivered,
  deliver,
  expectProved,
  explain,
  NOW,
  signing,
  toKnown,
  URL,
  withHeaders,
} from '../../testing/explained-delivery.ts'

describe('explain, of an address, a query or headers', () => {
  it.each(['hubspot', 'square', 'twilio'])('finds how the address differs that %s signed', async (scheme) => {
    const one = await deliver(scheme)
    for (const [publicUrl, message] of [
      ['http://pay.example.com/api/webhooks/shop', 'http or https'],
      ['https://pay.example.com/api/webhooks/shop/', 'trailing slash'],
      ['https://www.pay.example.com/api/webhooks/shop', 'different host'],
      // Twilio itself signs some URLs without their port.
      ...(scheme === 'twilio'
        ? []
        : [['https://pay.example.com:8080/api/webhooks/shop', 'different or omitted port'] as const]),
    ] as const) {
      const told = await expectProved({ ...one, settings: { ...one.settings, publicUrl } }, 'url')
      expect(told).toContain(message)
      expect(told).toContain(publicUrl)
    }
  })

  it.each(['hubspot', 'square', 'twilio'])(
    'finds the address of %s that a proxy or the option names',
    async (scheme) => {
      const one = await deliver(scheme)
      const settings = { ...one.settings, publicUrl: 'http://gateway.internal:8080/api/webhooks/shop' }
      const proxied = {
        ...one.delivery,
        rawHeaders: [...one.delivery.rawHeaders, 'X-Forwarded-Host', 'pay.example.com'],
      }
      expect(await expectProved({ ...one, settings, delivery: proxied }, 'url')).toContain('different host')
      expect(await expectProved({ ...one, settings }, 'url', { url: URL })).toContain(URL)
    },
  )

  it('finds a query that was added in transit', async () => {
    const one = await deliver('twilio')
    const message = await expectProved({ ...one, delivery: { ...one.delivery, query: 'trace=1' } }, 'url')
    expect(message).toContain('without the query')
  })

  it.each(signing.filter((scheme) => !['adyen', 'app-store', 'braintree', 'sns'].includes(scheme)))(
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

  it.each(['stripe', 'paddle'])('finds the blanks behind the separators of the list of %s', async (scheme) => {
    const one = await deliver(scheme)
    const joined = withHeaders(one, (name, value) => [name, value.replaceAll(/[,;]/g, '$& ')])
    expect(await expectProved(joined, 'header_changed')).toContain('blanks stand behind the commas or semicolons')
  })

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
})
