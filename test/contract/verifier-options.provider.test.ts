import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createVerifier, type VerifierOptions } from '@oncehook/webhooks'
import { demandedSettings } from '@oncehook/webhooks/testing/make-provider'
import { deliveryOf, providerOf, readVectorFiles, type Vector } from '@oncehook/webhooks/testing/vectors'
import { describe, expect, it, vi } from 'vitest'
import { BOTH_EFFECTS } from '../support/stack/stack-settings.ts'
import { eventOf, SENDERS } from './webhook-senders.ts'

const WHO = '@oncehook/webhooks breaks what it owes to the programs that verify with it (packages/webhooks/README.md)'
const files = readVectorFiles()
const [{ signer, sign, secret } = expect.unreachable()] = SENDERS
const EVENT = Buffer.from(signer.writeEvent(eventOf('evt_1', 'payment.succeeded'))).toString()
const STANDARD = { scheme: 'standard-webhooks', secrets: secret, ...BOTH_EFFECTS }
const NOW = 1_760_000_000_000
const TYPE = { 'X-Kind': 'application/json' }

/** What one option is tried on. */
interface Trial {
  /** The options beside it. Default: those of an event by Standard Webhooks. */
  readonly beside?: object
  readonly given: unknown
  /** Default: a payment of which all is right. */
  readonly body?: string
  readonly agoMs?: number
  readonly headers?: Readonly<Record<string, string>> | readonly string[]
  readonly now?: number
  readonly without: unknown
  readonly with: unknown
}

/** What a program learns: the options are refused, or what a delivery is, of which event, and which hosts were asked. */
async function resultOf(options: object, trial: Trial): Promise<unknown> {
  const hosts = new Set<string>()
  const fetch = (address: string | URL | Request): Promise<never> => {
    hosts.add(new URL(address instanceof Request ? address.url : address).host)
    return Promise.reject(new Error('Nobody answers'))
  }
  const { now = NOW, body = EVENT, agoMs = 0 } = trial
  const headers = trial.headers ?? { ...TYPE, ...sign(body, { id: 'evt_1', now: now - agoMs, secret }) }
  try {
    const verifier = createVerifier(options as VerifierOptions, {
      now: () => now,
      fetch: fetch as typeof globalThis.fetch,
    })
    const result = await verifier.verify({ rawBody: body, headers })
    const checked = verifier.answerCheck('/?hub.mode=subscribe&hub.challenge=7&hub.verify_token=a')?.body
    const { events, secretId, ...rest } = { events: [], secretId: '', ...result }
    const [event] = events
    return { ...rest, secretId, ...event, ...event?.facts, hosts: [...hosts], checked }
  } catch (error) {
    return String(error)
  }
}

function changed(change: (event: { data: { object: Record<string, unknown> } } & Record<string, unknown>) => unknown) {
  const event = JSON.parse(EVENT)
  change(event)
  return JSON.stringify(event)
}

const firstOf = (scheme: string) =>
  files.find((file) => file.scheme === scheme)?.cases.find(({ verdict }) => verdict === 'accepted')

/** The first accepted vector of a scheme, from the sandbox of PayPal, without the options that it must not have. */
function vectorOf(scheme: string, ...left: readonly string[]): Omit<Trial, 'given' | 'with' | 'without'> {
  const vector = firstOf(scheme)
  if (vector === undefined) throw new Error(`${scheme} has no vector`)
  const options = Object.entries(optionsOf(scheme, vector)).filter(([name]) => !left.includes(name))
  const { rawBody, rawHeaders } = deliveryOf(vector)
  const body = Buffer.from(rawBody).toString()
  const headers = rawHeaders.map((value) => value.replace('https://api.paypal', 'https://api.sandbox.paypal'))
  return { beside: Object.fromEntries(options), body, headers, now: vector.now * 1_000 }
}
const paypal = vectorOf('paypal', 'certificates')
const [accepted, refused] = [{ outcome: 'verified' }, { outcome: 'refused' }]
const short = createHmac('sha256', 'short').update(EVENT).digest('hex')
const stripe = SENDERS.find(({ name }) => name === 'stripe') ?? expect.unreachable()
const live = Buffer.from(stripe.signer.writeEvent(eventOf('evt_1', stripe.signer.types.succeeded))).toString()
const standardBody = JSON.stringify({ type: 'sale', timestamp: new Date(NOW).toISOString(), data: { id: 'sale_7' } })

const TRIALS: Readonly<Record<string, Trial>> = {
  id: { given: [{ id: 'autumn', value: secret }], without: { secretId: '1' }, with: { secretId: 'autumn' } },
  notAfter: { given: [{ value: secret, notAfter: new Date(NOW - 1) }], without: accepted, with: refused },
  toleranceSeconds: { given: 900, agoMs: 360_000, without: refused, with: accepted },
  acceptShortSecret: {
    ...{
      given: true,
      beside: { scheme: 'hmac', header: 'x-s', secrets: 'short', ...BOTH_EFFECTS },
      headers: { 'x-s': short },
    },
    ...{ without: expect.stringContaining('VerifierSettingsError'), with: accepted },
  },
  idHeader: {
    beside: { scheme: 'hmac', header: 'x-s', secrets: secret, signedText: '{id}.{body}', ...BOTH_EFFECTS },
    headers: { 'x-s': createHmac('sha256', secret).update(`evt_1.${EVENT}`).digest('hex'), 'x-id': 'evt_1' },
    ...{ given: 'x-id', without: expect.stringContaining('idHeader'), with: accepted },
  },
  events: {
    ...{ given: { sale: 'payment.succeeded' }, body: changed((event) => Object.assign(event, { type: 'sale' })) },
    ...{ without: { type: 'sale' }, with: { type: 'payment.succeeded' } },
  },
  read: {
    ...{ given: { order: '/cart' }, body: changed((event) => Object.assign(event, { cart: 'cart_7' })) },
    ...{ without: { orderId: 'ord_evt_1' }, with: { orderId: 'cart_7' } },
  },
  sample: { given: '{"no":"event"}', without: accepted, with: expect.stringContaining('sample') },
  effects: {
    ...{ given: ['payment.failed'], without: expect.not.objectContaining({ withheld: expect.anything() }) },
    with: { withheld: 'effect_not_allowed' },
  },
  requireAmount: {
    ...{ given: true, body: changed(({ data: { object } }) => delete object.amount) },
    ...{
      without: expect.not.objectContaining({ unreadable: expect.anything() }),
      with: { unreadable: 'amount_missing' },
    },
  },
  expect: {
    ...{ given: { '/livemode': true }, without: expect.not.objectContaining({ withheld: expect.anything() }) },
    with: { withheld: 'not_expected' },
  },
  'sandbox of app-store': {
    ...{ ...vectorOf('app-store'), given: true, without: expect.not.objectContaining({ withheld: 'not_expected' }) },
    with: { withheld: 'not_expected' },
  },
  'sandbox of paypal': {
    ...paypal,
    given: true,
    without: refused,
    with: { outcome: 'undecided' },
  },
  certificates: {
    ...{ ...paypal, beside: { ...paypal.beside, read: { type: '/type', object: '/data/object/id' } } },
    ...{ given: Object(firstOf('paypal')?.settings).certificates, without: refused },
    with: { transmission: { id: expect.any(String), checksum: expect.any(Number), countsUntil: expect.any(Number) } },
  },
  'sandbox of plaid': {
    ...{ ...vectorOf('plaid', 'keys'), given: true, without: { hosts: ['production.plaid.com'] } },
    with: { hosts: ['sandbox.plaid.com'] },
  },
  verifyToken: { ...vectorOf('meta'), given: 'a', without: { checked: undefined }, with: { checked: '7' } },
  shape: { given: 'standard', body: standardBody, without: { outcome: 'unreadable' }, with: { objectId: 'sale_7' } },
  testMode: {
    beside: { scheme: 'stripe', secrets: stripe.secret },
    ...{ given: true, body: live, headers: stripe.sign(live, { id: 'evt_1', now: NOW, secret: stripe.secret }) },
    ...{ without: { withheld: 'not_expected' }, with: expect.not.objectContaining({ withheld: expect.anything() }) },
  },
}

/** The options that a vector is verified with. A vector may hold any settings, so that the compiler cannot know them. */
function optionsOf(scheme: string, { settings, secret, notAfter }: Vector): VerifierOptions {
  const secrets = [{ id: 's1', value: secret, ...(notAfter === undefined ? {} : { notAfter: new Date(notAfter) }) }]
  return {
    ...{ scheme, acceptShortSecret: true, ...demandedSettings(scheme), ...settings },
    ...(secret === '' ? {} : { secrets }),
  } as VerifierOptions
}

/** Nobody answers: a scheme that must ask its provider cannot decide. */
const offline = (): Promise<never> => Promise.reject(new Error('offline'))

describe.each(files)('a verifier of $scheme', ({ scheme, cases }) => {
  it('returns the expected result for every vector', async () => {
    for (const [index, vector] of cases.entries()) {
      const verifier = createVerifier(optionsOf(scheme, vector), { now: () => vector.now * 1_000, fetch: offline })
      const { rawBody, rawHeaders, query } = deliveryOf(vector)
      const [start, end] = index % 2 === 0 ? ['/webhooks', ''] : ['https://program.test/webhooks', '#part']
      const result = await verifier.verify({ rawBody, headers: rawHeaders, url: `${start}?${query}${end}` })
      const { refusedItems } = result.outcome === 'verified' ? result : {}
      const expected = vector.refusedItems === undefined ? vector.verdict : 'accepted'
      const who = `${WHO}, with ${scheme}: ${vector.why}`
      expect(result.outcome === 'refused' ? 'refused' : 'accepted', who).toBe(expected)
      expect([refusedItems, result.status === 401], who).toEqual([vector.refusedItems, vector.verdict === 'refused'])
    }
  })

  it('reads the events that the gateway reads', async () => {
    for (const vector of cases.filter(({ verdict }) => verdict === 'accepted')) {
      const now = vector.now * 1_000
      const provider = providerOf(scheme, vector)
      if (provider.confirm !== undefined) continue
      const delivery = deliveryOf(vector)
      const verifier = createVerifier(optionsOf(scheme, vector), { now: () => now, fetch: offline })
      const result = await verifier.verify({ ...delivery, headers: delivery.rawHeaders, url: `?${delivery.query}` })
      if (result.outcome !== 'verified') continue
      const verified = await provider.verify(delivery, now, offline)
      const who = `${WHO}, with ${scheme}: ${vector.why}`
      expect(result.events, who).toEqual('refused' in verified ? null : provider.readEvents(verified))
      expect(result.secretId, who).toBe('s1')
    }
  })
})

describe('an option of @oncehook/webhooks', () => {
  it.each(Object.entries(TRIALS))('%s does what its declaration says', async (option, trial) => {
    const { beside = STANDARD, given } = trial
    const name = option.replace(/ of .*/, '')
    const isOfSecret = name === 'id' || name === 'notAfter'
    const results = [beside, { ...beside, [isOfSecret ? 'secrets' : name]: given }].map((one) => resultOf(one, trial))
    const found = await Promise.all(results)
    for (const [index, expected] of [trial.without, trial.with].entries()) {
      const who = `${WHO}: a verifier ${index === 0 ? 'without' : 'with'} ${option}`
      if (typeof expected === 'object' && expected !== null && !('asymmetricMatch' in expected)) {
        expect(found[index], who).toMatchObject(expected)
      } else expect(found[index], who).toEqual(expected)
    }
  })

  it('is beside the address of the sender, whom PayPal makes wait', async () => {
    const { beside, body = '', headers = [], now = 0 } = paypal
    const askedFrom = async (sender: object) => {
      const fetch = vi.fn(() => Promise.reject(new Error('Nobody answers')))
      const verifier = createVerifier({ ...beside, sandbox: true } as VerifierOptions, { now: () => now, fetch })
      for (const _ of [1, 2, 3, 4, 5]) await verifier.verify({ rawBody: body, headers, ...sender })
      return fetch.mock.calls.length
    }
    const asked = [await askedFrom({}), await askedFrom({ from: '192.0.2.9' })]
    expect(asked, `${WHO}: the requests without and with from`).toEqual([5, 3])
  })

  it.each([
    ['braintree', `bt_challenge=${'0'.repeat(20)}`, 'text/plain'],
    ['x', 'crc_token=a', undefined],
  ])('lets %s check the endpoint', (scheme, query, contentType) => {
    const verifier = createVerifier(optionsOf(scheme, firstOf(scheme) ?? expect.unreachable()), { now: () => NOW })
    const found = [verifier.answerCheck(`/?${query}`), verifier.answerCheck('/')]
    const body = expect.any(String)
    const checked = { outcome: 'handshake', status: 200, body, contentType }
    expect({ contentType: undefined, ...found[0] }, `${WHO}: a check of ${scheme}`).toMatchObject(checked)
    expect(found[1], `${WHO}: no check of ${scheme}`).toBeNull()
  })

  it('is tried, or has a vector', () => {
    const text = readFileSync(join(import.meta.dirname, '../../contracts/libraries/webhooks.txt'), 'utf8')
    const declared =
      /^### types\/verifier-options[\s\S]*?^type PlainScheme[\s\S]*?^export type SchemeName/m.exec(text)?.[0] ?? ''
    const options = Array.from(declared.matchAll(/^\t+readonly (\w+)\?:/gm), ([, name = '']) => name)
    expect(options.length).toBeGreaterThan(25)
    const had = files.flatMap(({ cases }) => cases.flatMap(({ settings = {} }) => Object.keys(settings)))
    const tried = [...had, ...Object.keys(TRIALS).map((name) => name.replace(/ of .*/, '')), 'secrets']
    expect(
      options.filter((name) => !tried.includes(name)),
      `${WHO}: options that nothing tries`,
    ).toEqual([])
  })
})
