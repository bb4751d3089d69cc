import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { isPaymentEventType } from '../event.ts'
import { asVerified, makeProvider } from '../testing/make-provider.ts'
import { SCHEMES } from './schemes.ts'

/** A body as a provider sends it, and what it means: a file of `contracts/events`. */
interface Sample {
  readonly scheme: string
  readonly about: string
  /** Where the scheme does not take any text for a secret; null where it has none. */
  readonly secret?: string | null
  readonly settings?: Readonly<Record<string, unknown>>
  readonly headers?: readonly (readonly [name: string, value: string])[]
  /** The id that the scheme signs in a header. */
  readonly signedId?: string
  readonly query?: string
  /** Text is sent as it is, anything else as JSON. */
  readonly body: unknown
  /** An id that is left out is made of the bytes; an object that is null has no id. */
  readonly events?: readonly {
    readonly id?: string
    readonly type: string
    readonly objectId: string | null
    readonly facts: object
  }[]
  /** The answer to a handshake, where it is one. */
  readonly handshake?: object
}

const FOLDER = new URL('../../../../contracts/events/', import.meta.url)
const samples = readdirSync(FOLDER).map((name) => ({
  name: name.replace('.json', ''),
  sample: JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8')) as Sample,
}))

function deliver({ scheme, secret = 'test_secret', settings, headers = [], query = '', signedId, body }: Sample) {
  const provider = makeProvider({
    settings: { scheme, ...settings },
    secrets: secret === null ? [] : [{ value: secret }],
  })
  const rawBody = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  const delivery = { rawBody, rawHeaders: headers.flat(), query, secretId: 's1', ...(signedId && { signedId }) }
  return { provider, delivery: asVerified(delivery) }
}

/** These events change no order, or not before their provider was asked. */
const NO_PAYMENTS = new Set([
  ...['adyen-platform', 'discord', 'fusionauth', 'github', 'gitlab', 'sendgrid', 'slack', 'x', 'zoom'],
  ...['flutterwave', 'mercadopago', 'mollie-classic'],
])

describe('the sample events', () => {
  it.each([...SCHEMES.keys()])('of %s show each kind of event', (scheme) => {
    const events = samples.filter(({ sample }) => sample.scheme === scheme).flatMap(({ sample }) => sample.events ?? [])
    const kinds = new Set(events.map(({ type }) => (isPaymentEventType(type) ? type : 'unhandled')))
    const payments = NO_PAYMENTS.has(scheme) ? [] : ['payment.failed', 'payment.succeeded']
    expect([...kinds].toSorted()).toEqual([...payments, 'unhandled'])
  })

  it('are of known schemes, and named after them', () => {
    for (const { name, sample } of samples) {
      expect([...SCHEMES.keys()]).toContain(sample.scheme)
      expect(name.startsWith(`${sample.scheme}-`), name).toBe(true)
    }
  })

  it.each(samples)('$name: $sample.about', ({ sample }) => {
    const { provider, delivery } = deliver(sample)
    const handshake = provider.answerHandshake(delivery)
    expect(handshake).toEqual(sample.handshake ?? null)
    if (handshake !== null) return
    const ofBytes = `sha256:${createHash('sha256').update(delivery.rawBody).digest('base64url')}`
    const expected = sample.events?.map(({ id = ofBytes, type, objectId, facts }) => ({
      id,
      type,
      ...(objectId === null ? {} : { objectId }),
      facts: { orderId: objectId ?? '', ...facts },
    }))
    expect(provider.readEvents(delivery)).toEqual(expected)
  })
})
