import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { isPaymentEventType, PAYMENT_EVENT_TYPES } from '../event.ts'
import type { Preset } from '../presets/preset.ts'
import { PRESETS } from '../presets/presets.ts'
import { presetSigner } from '../signing/preset-signer.ts'
import { asVerified, makeProvider } from '../testing/make-provider.ts'
import { SAMPLE_PAYMENT } from '../testing/sample-payment.ts'
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
  ...[
    'adyen-platform',
    'app-store',
    'discord',
    'docusign',
    'fusionauth',
    'github',
    'gitlab',
    'hubspot',
    'meta',
    'plaid',
    'sendgrid',
    'slack',
    'wise',
    'x',
    'zoom',
  ],
  ...['flutterwave', 'mercadopago', 'mollie-classic'],
])

/** A success, a failure and another event, as the signer of a preset writes them. */
function writtenBy(preset: Preset, sample: Sample | undefined): readonly { readonly type: string }[] {
  const { mapping, writeEvent } = presetSigner(preset)
  return ['payment.succeeded', 'payment.failed', 'some.other'].flatMap((type) => {
    const body = Buffer.from(writeEvent({ ...SAMPLE_PAYMENT, type })).toString()
    const given = {
      scheme: preset.name,
      about: '',
      ...sample,
      settings: { ...sample?.settings, ...mapping, effects: PAYMENT_EVENT_TYPES },
      body,
    }
    const { provider, delivery } = deliver(given)
    return provider.readEvents(delivery)
  })
}

describe('the sample events', () => {
  it.each([...SCHEMES.keys()])('of %s show each kind of event', (scheme) => {
    const own = samples.filter(({ sample }) => sample.scheme === scheme)
    expect(own).not.toEqual([])
    // The body of a preset, with other values in its places, shows the kinds that the files leave out.
    const made = PRESETS.filter(({ name }) => name === scheme).flatMap((preset) => writtenBy(preset, own[0]?.sample))
    const events = [...own.flatMap(({ sample }) => sample.events ?? []), ...made]
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
