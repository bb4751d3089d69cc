import { createHash } from 'node:crypto'
import {
  isPaymentEventType,
  PAYMENT_EVENT_TYPES,
  pointersOf,
  SCHEMES,
  type WebhookEvent,
} from '@oncehook/webhooks/providers'
import { asVerified, makeProvider } from '@oncehook/webhooks/testing/make-provider'
import { SAMPLE_PAYMENT } from '@oncehook/webhooks/testing/sample-payment'
import { describe, expect, it } from 'vitest'
import type { Place, Preset } from '../../packages/webhooks/src/presets/preset.ts'
import { PRESETS } from '../../packages/webhooks/src/presets/presets.ts'
import { presetSigner } from '../../packages/webhooks/src/signing/preset-signer.ts'
import { mappedTypes } from '../support/providers/mapped-types.ts'
import { bodyWith, bytesOfBody, type Change, readSamples, type Sample } from './provider-samples.ts'

const samples = readSamples()

function deliver({ scheme, secret = 'test_secret', settings, headers = [], query = '', signedId, body }: Sample) {
  const provider = makeProvider({
    settings: { scheme, ...settings },
    secrets: secret === null ? [] : [{ value: secret }],
  })
  const rawBody = bytesOfBody(body)
  const delivery = { rawBody, rawHeaders: headers.flat(), query, secretId: 's1', ...(signedId && { signedId }) }
  return { provider, delivery: asVerified(delivery) }
}

/** What the gateway reads from a sample with another body. */
function read(sample: Sample, body: unknown) {
  const { provider, delivery } = deliver({ ...sample, body })
  return provider.readEvents(delivery)
}

function expectedEvents({ events }: Sample, body: unknown) {
  const ofBytes = `sha256:${createHash('sha256').update(bytesOfBody(body)).digest('base64url')}`
  return events?.map(({ id = ofBytes, type, objectId, facts }) => ({
    id,
    type,
    ...(objectId === null ? {} : { objectId }),
    facts: { orderId: objectId ?? '', ...facts },
  }))
}

/** These events change no order, or not before their provider was asked. */
const NO_PAYMENTS = new Set([
  ...['app-store', 'discord', 'docusign', 'fusionauth', 'github', 'gitlab', 'hubspot', 'meta'],
  ...['plaid', 'sendgrid', 'slack', 'wise', 'x', 'zoom'],
  ...['flutterwave', 'mercadopago', 'mollie-classic'],
])

/** A success, a failure and another event, as the signer of a preset writes them. */
function writtenBy(preset: Preset, sample: Sample | undefined): readonly { readonly type: string }[] {
  const { mapping, writeEvent } = presetSigner(preset)
  return ['payment.succeeded', 'payment.failed', 'some.other'].flatMap((type) => {
    const body = Buffer.from(writeEvent({ ...SAMPLE_PAYMENT, type })).toString()
    const settings = { ...sample?.settings, ...mapping, effects: PAYMENT_EVENT_TYPES }
    return read({ scheme: preset.name, about: '', ...sample, settings, body }, body)
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

  // What their providers answer is in the contracts with their APIs.
  const signing = [...SCHEMES.keys()].filter((name) => !['flutterwave', 'mercadopago', 'mollie-classic'].includes(name))

  it.each(signing)('of %s have a row for each type that counts', (scheme) => {
    const types = samples.flatMap(({ sample }) => (sample.scheme === scheme ? Object.keys(sample.types ?? {}) : []))
    const mapped = PAYMENT_EVENT_TYPES.flatMap((ours) => mappedTypes(scheme, ours))
    // A type with the same name as ours counts without a mapping.
    const rows = [...new Set(types)].filter((name) => !isPaymentEventType(name))
    expect(rows.toSorted(), `rows of contracts/events for ${scheme}`).toEqual(mapped.toSorted())
  })

  it.each(PRESETS)('of $name have each place that is read, each condition and each other unit', (preset) => {
    const own = samples.flatMap(({ sample }) => (sample.scheme === preset.name ? [sample] : []))
    const { type: _, status: _status, amountIn: _in, decimals = {}, ...places } = preset.read
    const lists = Object.entries(places).map(([name, place]: [string, Place]) => [name, [place].flat()])
    const rows = `rows of contracts/events for ${preset.name}`
    const listed = Object.assign({}, ...own.map((sample) => sample.places ?? {}))
    expect(listed, `${rows}: places`).toEqual(Object.fromEntries(lists))
    const changed = own.flatMap(({ unless = {} }) => Object.values(unless).flatMap((change) => Object.keys(change)))
    const conditions = Object.values(preset.types).flatMap((is) => (typeof is === 'string' ? [] : pointersOf(is.where)))
    expect(
      conditions.filter((pointer) => !changed.includes(pointer)),
      `${rows}: conditions`,
    ).toEqual([])
    const currencies = own.flatMap(({ amounts = [] }) => amounts.map(([currency]) => currency))
    const units = Object.keys(decimals)
    expect(
      units.filter((currency) => !currencies.includes(currency)),
      `${rows}: units`,
    ).toEqual([])
  })

  it('are of known schemes, named after them, and their rows name the document of the provider', () => {
    for (const { name, sample } of samples) {
      expect([...SCHEMES.keys()]).toContain(sample.scheme)
      expect(name.startsWith(`${sample.scheme}-`), name).toBe(true)
      if (sample.types !== undefined) expect(sample.document, name).toMatch(/^\S/)
    }
  })
})

describe.each(samples)('$name: $sample.about', ({ name, sample }) => {
  const { amounts = [], at = '', body, document, places = {}, scheme, types = {}, unless = {} } = sample
  const source = document === undefined ? '' : `, as in ${document}`
  const who = `The gateway breaks what it owes to the consumer ${scheme} (contracts/events/${name}.json${source})`
  const pointersTo = (place: string): string[] => (places[place] ?? []).map((pointer) => `${at}${pointer}`)
  const amountIn = (currency: string, sent: unknown): Change =>
    Object.fromEntries([
      ...pointersTo('amount').map((pointer) => [pointer, sent]),
      [pointersTo('currency')[0], currency],
    ])

  it('is read as the sample says', () => {
    const { provider, delivery } = deliver(sample)
    const handshake = provider.answerHandshake(delivery)
    expect(handshake, who).toEqual(sample.handshake ?? null)
    if (handshake === null) expect(provider.readEvents(delivery), who).toEqual(expectedEvents(sample, body))
  })

  it.each(Object.entries(types))('%s means this', (type, change) => {
    const other = bodyWith(body, change)
    expect(read(sample, other), `${who}: what ${type} means`).toEqual(expectedEvents(sample, other))
  })

  it.each(Object.entries(unless))('%s means no payment', (not, change) => {
    for (const [type, ofType] of Object.entries(types)) {
      const events = read(sample, bodyWith(body, { ...ofType, ...change }))
      const meant = events.filter((event) => isPaymentEventType(event.type) && event.facts.withheld === undefined)
      expect(meant, `${who}: ${type} of ${not} means no payment`).toEqual([])
    }
  })

  it.each(amounts)('an amount in %s is %j for %j minor units', (currency, sent, amount) => {
    const [event] = read(sample, bodyWith(body, amountIn(currency, sent)))
    expect(event?.facts, `${who}: the unit of ${currency}`).toMatchObject({ amount, currency })
  })

  it.each(Object.keys(places))('the first %s that is there counts', (place) => {
    const pointers = pointersTo(place)
    for (const [index, pointer] of pointers.entries()) {
      const [currency, sent, amount] = amounts[index] ?? []
      const values = pointers.map((_, at) => (place === 'amount' ? amounts[at]?.[1] : exampleOf(place, at)))
      const left = pointers.map((one, at): [string, unknown] => [one, at < index ? undefined : values[at]])
      const change = { ...(place === 'amount' ? amountIn(currency ?? '', sent) : {}), ...Object.fromEntries(left) }
      const found = valuesOf(read(sample, bodyWith(body, change))[0])
      const meant = place === 'amount' ? amount : exampleOf(place, index)
      expect(found[place], `${who}: the ${place} at ${pointer}`).toBe(meant)
    }
  })
})

function exampleOf(place: string, index: number): string | undefined {
  if (place === 'currency') return ['EUR', 'USD', 'GBP'][index]
  return place === 'time' ? `2026-01-0${index + 1}T00:00:00.000Z` : `${place}_${index}`
}

/** The values of an event by the names of their places. */
function valuesOf(event: WebhookEvent | undefined): Readonly<Record<string, unknown>> {
  const { id, objectId: object, facts } = event ?? {}
  return {
    id,
    object,
    order: facts?.orderId,
    amount: facts?.amount,
    currency: facts?.currency,
    time: facts?.occurredAt,
  }
}
