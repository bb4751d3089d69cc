import { readdirSync, readFileSync } from 'node:fs'
import { AppError } from '@oncehook/kernel/http/errors'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isPaymentEventType, type WebhookEvent } from '../event.ts'
import { isEventText } from '../events/event-text.ts'
import { isObject } from '../events/json-object.ts'
import type { Provider } from '../provider.ts'
import { asVerified } from '../testing/make-provider.ts'
import { providerOf, readVectorFiles } from '../testing/vectors.ts'

const EVENTS = new URL('../../../../contracts/events/', import.meta.url)
const bodies = readdirSync(EVENTS).map((name) => {
  const { scheme, body } = JSON.parse(readFileSync(new URL(name, EVENTS), 'utf8')) as { scheme: string; body: unknown }
  return { scheme, body: typeof body === 'string' ? parseOrNull(body) : body }
})

const providers = readVectorFiles().map(({ scheme, cases }) => {
  const [first] = cases
  if (first === undefined) throw new Error(`No vectors of ${scheme}`)
  return { scheme, provider: providerOf(scheme, first) }
})

function parseOrNull(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** All places in a JSON value, as the names on the way there. */
function placesIn(value: unknown, way: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [way]
  return [way, ...Object.entries(value).flatMap(([name, member]) => placesIn(member, [...way, name]))]
}

/** The value with another one in a place. */
function replaceIn(value: unknown, [name, ...way]: readonly string[], other: unknown): unknown {
  if (name === undefined) return other
  if (Array.isArray(value)) return value.map((item, at) => (String(at) === name ? replaceIn(item, way, other) : item))
  return { ...(value as object), [name]: replaceIn((value as Record<string, unknown>)[name], way, other) }
}

const odd = fc.oneof(
  fc.constantFrom(null, true, 0, -1, 1.5, 1e300, -0.1, 2 ** 53, '', ' ', '\u0000', '\ud800', 'x'.repeat(300), [], {}, [
    [],
  ]),
  fc.constantFrom(
    'payment.succeeded',
    '__proto__',
    'constructor',
    '2026-13-45T00:00:00Z',
    '-1',
    '1e5',
    '999999999999999999',
  ),
  fc.jsonValue({ maxDepth: 3 }),
)

/** What a provider makes of an authentic body. Only one that may refuses it; every other way out fails the test. */
function read(provider: Provider, rawBody: Buffer): readonly WebhookEvent[] {
  const delivery = { rawBody, rawHeaders: ['x-github-event', 'issues'], query: '', secretId: 's1', signedId: 'msg_1' }
  try {
    const verified = asVerified(delivery)
    return provider.answerHandshake(verified) === null ? provider.readEvents(verified) : []
  } catch (error) {
    expect(error).toBeInstanceOf(AppError)
    expect(error).toMatchObject({ status: 400 })
    expect(provider.refusesUnreadable).toBe(true)
    return []
  }
}

function expectSound(event: WebhookEvent): void {
  const { id, type, objectId = 'none', facts } = event
  expect([id, type, objectId, facts.orderId || 'none'].every(isEventText)).toBe(true)
  if (isPaymentEventType(type)) expect([event.objectId, facts.orderId].every(isEventText)).toBe(true)
  if (facts.amount !== undefined) expect(Number.isSafeInteger(facts.amount)).toBe(true)
  if (facts.currency !== undefined) expect(facts.currency).toMatch(/^[A-Z]{3}$/)
  if (facts.occurredAt !== undefined) expect(new Date(facts.occurredAt).toISOString()).toBe(facts.occurredAt)
}

describe.each(providers)('reading of $scheme', ({ scheme, provider }) => {
  const samples = bodies.filter((one) => one.scheme === scheme && isObject(one.body)).map(({ body }) => body)
  const sample = samples.length === 0 ? fc.constant<unknown>({}) : fc.constantFrom(...samples)

  it('makes sound events or a refusal of a sample with anything in any places', () => {
    const spoilt = sample.chain((body) =>
      fc
        .array(fc.tuple(fc.constantFrom(...placesIn(body).slice(1), []), odd), { minLength: 1, maxLength: 3 })
        .map((changes) =>
          changes.reduce((value, [way, other]) => (has(value, way) ? replaceIn(value, way, other) : value), body),
        ),
    )
    fc.assert(
      fc.property(spoilt, (body) => {
        for (const event of read(provider, Buffer.from(JSON.stringify(body)))) expectSound(event)
      }),
      { numRuns: 500 },
    )
  })

  it('makes sound events or a refusal of any bytes', () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 64 }).map((one) => Buffer.from(one)),
      fc.json().map((text) => Buffer.from(text)),
      fc.stringMatching(/^([a-z]{1,3}=[%+a-f0-9]{0,6}&?){0,4}$/).map((text) => Buffer.from(text)),
    )
    fc.assert(
      fc.property(bytes, (rawBody) => {
        for (const event of read(provider, rawBody)) expectSound(event)
      }),
      { numRuns: 300 },
    )
  })
})

/** Whether a place is still there after others were changed. */
function has(value: unknown, [name, ...way]: readonly string[]): boolean {
  if (name === undefined) return true
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? has((value as Record<string, unknown>)[name], way)
    : false
}
