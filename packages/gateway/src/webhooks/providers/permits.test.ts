import { readdirSync, readFileSync } from 'node:fs'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { settingsProblems } from '@oncehook/kernel/testing/settings-problems'
import { isPaymentEventType, SCHEMES } from '@oncehook/webhooks/providers'
import { asVerified, makeProvider, onlyEvent } from '@oncehook/webhooks/testing/make-provider'
import { describe, expect, it } from 'vitest'
import { PROVIDER_SOURCES } from '../../testing/provider-sources.ts'
import { type Providers, readProviders, watchProviders } from './providers.ts'

const secret = 'canary-secret-0123456789'
const secrets = [{ id: 'a', value: secret }]

const problemsOf = (acme: object) => settingsProblems(() => readProviders(JSON.stringify({ acme }), PROVIDER_SOURCES))

const BOTH = '"effects": ["payment.succeeded", "payment.failed"]'
const hmac = { scheme: 'hmac', header: 'x-signature', secrets }

describe('the effects of a provider', () => {
  it.each([
    hmac,
    {
      scheme: 'standard-webhooks',
      secrets: [{ id: 'a', value: 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=' }],
    },
    { scheme: 'hook0', secrets },
  ])('is required for $scheme, and the refusal shows the line to add', (settings) => {
    expect(problemsOf(settings)).toEqual([
      `PROVIDERS.acme: effects is required: add ${BOTH}, or "effects": [] for none`,
    ])
    for (const effects of [[], ['payment.failed'], ['payment.succeeded', 'payment.failed']]) {
      expect(problemsOf({ ...settings, effects })).toEqual([])
    }
  })

  it('must contain the types that the events are mapped to, and the refusal shows the line to add', () => {
    const github = { scheme: 'github', events: { sponsorship: 'payment.succeeded' }, secrets }
    const message = 'PROVIDERS.acme: events maps to a type of payment that has no effect here:'
    expect(problemsOf(github)).toEqual([`${message} add "effects": ["payment.succeeded"]`])
    expect(problemsOf({ ...github, effects: ['payment.failed'] })).toEqual([`${message} write ${BOTH}`])
    expect(problemsOf({ ...github, effects: ['payment.succeeded'] })).toEqual([])
    expect(problemsOf({ ...github, events: { ping: 'pong' } })).toEqual([])
  })

  it.each([['payment.refunded'], 'payment.succeeded', ['payment.failed', 'payment.failed', 'payment.failed']])(
    'are types of ours: not %j',
    (effects) => {
      expect(problemsOf({ ...hmac, effects })[0]).toContain('PROVIDERS.acme')
    },
  )

  it('are both by default if the scheme has payments, otherwise none', () => {
    const none =
      'adyen-platform app-store calendly clerk discord docusign fusionauth github gitlab hubspot meta plaid resend sendgrid slack sns wise workos x zoom'.split(
        ' ',
      )
    const said = ['hmac', 'hook0', 'standard-webhooks']
    for (const [name, { permits }] of SCHEMES) {
      const effects = said.includes(name) ? null : none.includes(name) ? [] : ['payment.succeeded', 'payment.failed']
      expect({ name, effects: permits.effects }).toEqual({ name, effects })
    }
  })
})

describe('an amount', () => {
  it('is required of the schemes that always name one', () => {
    const demanded = [...SCHEMES.values()].filter(({ permits }) => permits.requireAmount).map(({ name }) => name)
    expect(demanded).toEqual(
      'adyen braintree cashfree checkout coinbase-commerce creem dodo flutterwave lemonsqueezy mercadopago modern-treasury mollie mollie-classic paddle paypal paystack polar razorpay revenuecat shopify square stripe woocommerce'.split(
        ' ',
      ),
    )
  })
})

/** A body of `contracts/events` as the provider under test reads it. */
interface Sample {
  readonly scheme: string
  readonly secret?: string | null
  readonly settings?: Readonly<Record<string, unknown>>
  readonly headers?: readonly (readonly [string, string])[]
  readonly signedId?: string
  readonly query?: string
  readonly body: unknown
  readonly events?: readonly { readonly type: string }[]
}

const FOLDER = new URL('../../../../../contracts/events/', import.meta.url)
const samples = readdirSync(FOLDER)
  .map((name): [string, Sample] => [name, JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8'))])
  .filter(([, { events = [] }]) => events.some(({ type }) => isPaymentEventType(type)))

function readSample(sample: Sample, settings: object) {
  const { scheme, secret: value = 'test_secret', headers = [], query = '', signedId, body } = sample
  const provider = makeProvider({
    settings: { scheme, ...sample.settings, ...settings },
    secrets: value === null ? [] : [{ value }],
  })
  const rawBody = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  const delivery = { rawBody, rawHeaders: headers.flat(), query, secretId: 's1', ...(signedId && { signedId }) }
  return provider.readEvents(asVerified(delivery)).filter(({ type }) => isPaymentEventType(type))
}

describe.each(samples)('the payment in %s', (_, sample) => {
  it('has no effect that the settings do not allow', () => {
    const events = sample.settings?.events === undefined ? readSample(sample, { effects: [] }) : []
    for (const { facts } of events) expect(facts.withheld).toMatch(/^(effect_not_allowed|not_expected)$/)
  })

  it('has none if it does not set `expect`', () => {
    const pointer = sample.scheme === 'adyen' ? '/merchantAccountCode' : '/nothing/of/the/kind'
    for (const { facts } of readSample(sample, { expect: { [pointer]: 'x' } }))
      expect(facts.withheld).toBe('not_expected')
  })
})

describe('what is expected', () => {
  const read = (body: object, settings: object) => {
    const provider = makeProvider({ settings: { scheme: 'stripe', ...settings }, secrets: [{ value: secret }] })
    const event = { id: 'evt_1', type: 'payment.succeeded', data: { object: { id: 'p', amount: 1, currency: 'EUR' } } }
    const rawBody = Buffer.from(JSON.stringify({ ...event, ...body }))
    return onlyEvent(provider.readEvents(asVerified({ rawBody, rawHeaders: [], query: '', secretId: 's1' }))).facts
      .withheld
  }

  it.each([
    [{ livemode: true }, {}, undefined],
    [{ livemode: false }, {}, 'not_expected'],
    [{}, {}, 'not_expected'],
    [{ livemode: false }, { testMode: true }, undefined],
    [{ livemode: true }, { testMode: true }, 'not_expected'],
    [{ livemode: true }, { testMode: false }, undefined],
    [{ livemode: false }, { expect: { '/livemode': false } }, undefined],
    [{ livemode: false }, { expect: { '/account': 'acct_1' } }, 'not_expected'],
    [{ livemode: true, account: 'acct_1' }, { expect: { '/account': 'acct_1' } }, undefined],
    [{ livemode: true, account: 'acct_2' }, { expect: { '/account': 'acct_1' } }, 'not_expected'],
    [{ livemode: true }, { expect: { '/account': 'acct_1' } }, 'not_expected'],
    [{ livemode: true, account: null }, { expect: { '/account': null } }, undefined],
    [{ livemode: true }, { expect: { '/account': null } }, 'not_expected'],
    [{ livemode: true, a: ['x', 1] }, { expect: { '/a/1': 1 } }, undefined],
    // Payments of another shop in the same account.
    [{ livemode: true, metadata: { shop: 'mine' } }, { expect: { '/metadata/shop': 'mine' } }, undefined],
    [{ livemode: true, metadata: { shop: 'other' } }, { expect: { '/metadata/shop': 'mine' } }, 'not_expected'],
    [{ livemode: true, metadata: {} }, { expect: { '/metadata/shop': 'mine' } }, 'not_expected'],
    [{ livemode: true, a: ['x', 1] }, { expect: { '/a/1': '1' } }, 'not_expected'],
    [{ livemode: true, a: {} }, { expect: { '/a/constructor': null } }, 'not_expected'],
  ])('of %j with %j makes it %s', (body, settings, withheld) => {
    expect(read(body, settings)).toBe(withheld)
  })

  it.each([
    [{ 'no/pointer': 1 }, 'expect'],
    [{ '/id': 2 ** 53 }, 'expect'],
    [{ '/id': {} }, 'expect'],
  ])('is refused at the start where it can be no value: %j', (expected, named) => {
    expect(problemsOf({ ...hmac, effects: [], expect: expected })[0]).toContain(named)
  })

  it('may refer only to signed properties', () => {
    const adyen = { scheme: 'adyen', secrets: [{ id: 'a', value: '44782DEF547AAA06C910C43932B1EB0C' }] }
    expect(problemsOf({ ...adyen, expect: { '/merchantAccountCode': 'Shop' } })).toEqual([])
    expect(problemsOf({ ...adyen, expect: { '/eventDate': 'x' } })[0]).toContain(
      'expect refers to a property that is not signed',
    )
    const read = { order: '/additionalData/metadata.orderId' }
    expect(problemsOf({ ...adyen, read })[0]).toContain('read.order refers to a property that is not signed')
    expect(problemsOf({ ...adyen, read: { order: '/merchantReference' } })).toEqual([])
  })
})

describe('a start', () => {
  function warnings(acme: object, event = 'provider.origin-unchecked'): unknown[] {
    const { logger, lines } = memoryLogger()
    const read = (): Providers => readProviders(JSON.stringify({ acme }), PROVIDER_SOURCES)
    watchProviders({ read, fingerprint: () => 'same' }, logger)
    return lines.filter(({ msg }) => msg === event)
  }
  const square = { scheme: 'square', publicUrl: 'https://pay.example.com/api/webhooks/square', secrets }

  it('warns where a signed property names the account and nothing is said of it', () => {
    expect(warnings(square)).toEqual([
      expect.objectContaining({ provider: 'acme', properties: ['/merchant_id'], level: 'warn' }),
    ])
    for (const scheme of ['shopify', 'gocardless', 'lemonsqueezy', 'razorpay', 'mollie']) {
      expect(warnings({ scheme, secrets }), scheme).toHaveLength(1)
    }
  })

  it('warns of the account of Stripe: with Connect, one key signs for every connected account', () => {
    expect(warnings({ scheme: 'stripe', secrets })).toEqual([
      expect.objectContaining({ level: 'warn', properties: ['/account'] }),
    ])
    expect(warnings({ scheme: 'stripe', testMode: true, secrets })).toHaveLength(1)
    expect(warnings({ scheme: 'stripe', expect: {}, secrets })).toEqual([])
  })

  it('warns where a further type is a success, and nothing is said of its amount', () => {
    const checkout = { scheme: 'checkout', secrets, events: { payment_approved: 'payment.succeeded' } }
    const amounts = (settings: object): unknown[] => warnings(settings, 'provider.amount-required')
    expect(amounts(checkout)).toEqual([
      expect.objectContaining({ provider: 'acme', level: 'warn', types: ['payment_approved'] }),
    ])
    expect(amounts({ ...checkout, requireAmount: true })).toEqual([])
    expect(amounts({ ...checkout, requireAmount: false })).toEqual([])
    expect(amounts({ ...checkout, events: { payment_voided: 'payment.failed' } })).toEqual([])
    expect(amounts({ scheme: 'gocardless', secrets, events: { 'payments.paid_out': 'payment.succeeded' } })).toEqual([])
  })

  it('is silent if `requireAmount` or `expect` is set, if there is no effect, and if no property names the account', () => {
    expect(warnings({ ...square, expect: { '/merchant_id': 'M1' } })).toEqual([])
    expect(warnings({ ...square, expect: {} })).toEqual([])
    expect(warnings({ ...square, effects: [] })).toEqual([])
    expect(warnings({ scheme: 'checkout', secrets })).toEqual([])
  })
})
