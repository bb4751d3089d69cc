import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { eventInvalid } from '../errors.ts'
import type { WebhookEvent } from '../event.ts'
import { type EventRules, normalizeEvent } from './event-reader.ts'
import { isEventText } from './event-text.ts'
import { readJsonObject } from './json-object.ts'
import { type AmountRules, findPlainEvent, findStrictEvent } from './plain-event.ts'

function read(sent: string | object, rules: Partial<EventRules> = {}, amounts?: AmountRules): WebhookEvent {
  const body = readJsonObject(Buffer.from(typeof sent === 'string' ? sent : JSON.stringify(sent)))
  const found = amounts === undefined ? findStrictEvent(body) : findPlainEvent(body, amounts)
  return normalizeEvent(found, body, { types: {}, ...rules })
}

function refusalOf(body: string | object): unknown {
  try {
    read(body)
    return null
  } catch (error) {
    return error
  }
}

const whole = { id: 'evt_1', type: 'payment.succeeded', data: { object: { id: 'pay_1' } } }

/** The body of a payment whose object has these properties beside its id. */
function payment(object: object): object {
  return { ...whole, data: { object: { id: 'pay_1', ...object } } }
}

function factsOf(object: object, rules: Partial<EventRules> = {}, amounts?: AmountRules): WebhookEvent['facts'] {
  return read(payment(object), rules, amounts).facts
}

describe('findStrictEvent', () => {
  it('reads the shape {id, type, data: {object: {id}}}', () => {
    expect(read(whole)).toEqual({
      id: 'evt_1',
      type: 'payment.succeeded',
      objectId: 'pay_1',
      facts: { orderId: 'pay_1' },
    })
  })

  describe.each([
    ['id', (value: unknown) => ({ ...whole, id: value })],
    ['type', (value: unknown) => ({ ...whole, type: value })],
    ['data.object.id', (value: unknown) => ({ ...whole, data: { object: { id: value } } })],
  ])('%s', (_, withValue) => {
    it.each([
      ['is a boolean', true],
      ['is null', null],
      ['is an object', { $gt: '' }],
      ['is empty', ''],
      ['is white space of many kinds', ' \u00a0\u2003\u3000\ufeff'],
      ['has a null character', 'evt\u0000_1'],
      ['has a C1 control character', 'evt\u0085'],
      ['has 256 bytes', 'x'.repeat(256)],
    ])('is refused when it %s', (_, value) => {
      expect(refusalOf(withValue(value))).toMatchObject({ code: eventInvalid.code, status: 400 })
    })

    it.each(['\\ud800', '\\udfff', 'a\\ude00\\ud83d', 'x\\ud83d'])(
      'is refused with the lone surrogate %s',
      (escaped) => {
        const body = JSON.stringify(withValue('MARK')).replace('MARK', escaped)
        expect(refusalOf(body)).toMatchObject({ code: eventInvalid.code })
      },
    )

    it.each([
      ['255 bytes', 'x'.repeat(255)],
      ['a dollar sign and a full stop', '$where.x'],
      ['any script', 'ид-標識-🆔'],
      ['__proto__', '__proto__'],
    ])('is taken with %s, unchanged', (_, value) => {
      const event = read(withValue(value))
      expect([event.id, event.type, event.objectId]).toContain(value)
    })
  })

  it.each([
    ['data is absent', { ...whole, data: undefined }],
    ['data is null', { ...whole, data: null }],
    ['data.object is absent', { ...whole, data: {} }],
    ['data.object is an array', { ...whole, data: { object: [{ id: 'pay_1' }] } }],
  ])('refuses a body whose %s', (_, body) => {
    expect(refusalOf(body)).toMatchObject({ code: eventInvalid.code, status: 400 })
  })

  it('reads nothing from properties named __proto__', () => {
    expect(refusalOf('{"__proto__":{"id":"evt_1","type":"t","data":{"object":{"id":"p"}}}}')).toMatchObject({
      code: eventInvalid.code,
    })
    expect(refusalOf('{"id":"evt_1","type":"t","data":{"object":{"__proto__":{"id":"p"}}}}')).not.toBeNull()
    expect(factsOfText('{"__proto__":{"orderId":"ord_evil"},"id":"pay_1"}')).toEqual({ orderId: 'pay_1' })
    expect(factsOfText('{"id":"pay_1","metadata":{"__proto__":{"order_id":"ord_evil"}}}')).toEqual({ orderId: 'pay_1' })
    expect(({} as Record<string, unknown>).orderId).toBeUndefined()
  })

  function factsOfText(object: string): WebhookEvent['facts'] {
    return read(`{"id":"evt_1","type":"t","data":{"object":${object}}}`).facts
  }

  it('never throws anything but a refusal of the catalogue, whatever the event contains', () => {
    const value = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.string(), fc.double(), fc.bigInt().map(Number))
    const members = ['orderId', 'order_id', 'metadata', 'amount', 'currency']
    const object = fc.dictionary(fc.constantFrom(...members), value, { maxKeys: 5 })
    fc.assert(
      fc.property(object, value, value, (one, created, timestamp) => {
        const { facts } = read({ ...(payment(one) as object), created, timestamp })
        expect(isEventText(facts.orderId)).toBe(true)
        if (facts.amount !== undefined) expect(Number.isSafeInteger(facts.amount)).toBe(true)
        if (facts.currency !== undefined) expect(facts.currency).toMatch(/^[A-Z]{3}$/)
        if (facts.occurredAt !== undefined) expect(facts.occurredAt).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]{12}Z$/)
      }),
    )
  })
})

describe('the type', () => {
  const types = { 'charge.paid': 'payment.succeeded' }

  it('is the provider’s own type if nothing maps it', () => {
    expect(read({ ...whole, type: 'charge.paid' }).type).toBe('charge.paid')
    expect(read({ ...whole, type: 'charge.other' }, { types }).type).toBe('charge.other')
  })

  it('is our type if the scheme maps it', () => {
    expect(read({ ...whole, type: 'charge.paid' }, { types }).type).toBe('payment.succeeded')
  })

  it('comes from the settings before the scheme', () => {
    expect(read({ ...whole, type: 'charge.paid' }, { types, events: { 'charge.paid': 'payment.failed' } }).type).toBe(
      'payment.failed',
    )
  })
})

describe('the order', () => {
  const everywhere = {
    orderId: 'from orderId',
    order_id: 'from order_id',
    metadata: { orderId: 'from metadata.orderId', order_id: 'from metadata.order_id' },
  }

  it('is the object itself if neither sets it', () => {
    expect(factsOf({}).orderId).toBe('pay_1')
    expect(factsOf({ metadata: 'ord_1' }).orderId).toBe('pay_1')
    expect(factsOf({ metadata: ['ord_1'] }).orderId).toBe('pay_1')
    expect(factsOf({ metadata: null }).orderId).toBe('pay_1')
  })

  it.each([
    ['null', null],
    ['an object', { id: 'ord_1' }],
    ['256 bytes', 'x'.repeat(256)],
    ['a number beyond every exact integer', 1e300],
  ])('is searched for in the next property if one contains %s', (_, value) => {
    expect(factsOf({ orderId: value, order_id: 'ord_2' }).orderId).toBe('ord_2')
  })

  it('may be a number, which counts as its digits', () => {
    expect(factsOf({ order_id: 1001 }).orderId).toBe('1001')
    expect(factsOf({ order_id: 0 }).orderId).toBe('0')
    expect(factsOf({ order_id: Number.MAX_SAFE_INTEGER }).orderId).toBe('9007199254740991')
  })

  it('is only at the pointer of the settings', () => {
    const pointed = { read: { order: '/data/object/lines/0/ref' } }
    expect(factsOf({ ...everywhere, lines: [{ ref: 'ord_9' }] }, pointed).orderId).toBe('ord_9')
    expect(factsOf({ ...everywhere, lines: [{ ref: 1001 }] }, pointed).orderId).toBe('1001')
    expect(factsOf({ ...everywhere, lines: [] }, pointed).orderId).toBe('pay_1')
    expect(read({ ...whole, ref: 'ord_9' }, { read: { order: '/ref' } }).facts.orderId).toBe('ord_9')
  })
})

describe('amount and currency', () => {
  it('are reported if the object has them, the currency in capitals', () => {
    expect(factsOf({ amount: 1999, currency: 'eur' })).toEqual({ orderId: 'pay_1', amount: 1999, currency: 'EUR' })
    expect(factsOf({ amount: 0, currency: 'JpY' })).toEqual({ orderId: 'pay_1', amount: 0, currency: 'JPY' })
  })

  it('are not reported if they are absent or null', () => {
    expect(factsOf({})).toEqual({ orderId: 'pay_1' })
    expect(factsOf({ amount: null, currency: null })).toEqual({ orderId: 'pay_1' })
  })

  it.each([['1999'], [19.99], [2 ** 53], [true], [[1999]], [{}], ['']])('amount %j can equal none', (amount) => {
    expect(factsOf({ amount })).toEqual({ orderId: 'pay_1', unreadable: 'amount_mismatch' })
  })

  it.each([['EURO'], ['EU'], [''], ['EU€'], [978], [{}], [' EUR'], ['ſek']])(
    'currency %j can equal none',
    (currency) => {
      expect(factsOf({ currency })).toEqual({ orderId: 'pay_1', unreadable: 'currency_mismatch' })
    },
  )

  it('are read from the first property that the scheme names and the object has', () => {
    const amounts = { amountMembers: () => ['received', 'amount'], toIsoUnits: (amount: number) => amount }
    expect(factsOf({ received: 5, amount: 6 }, {}, amounts).amount).toBe(5)
    expect(factsOf({ received: 0, amount: 6 }, {}, amounts).amount).toBe(0)
    expect(factsOf({ received: null, amount: 6 }, {}, amounts).amount).toBe(6)
    expect(factsOf({ amount: 6 }, {}, amounts).amount).toBe(6)
    expect(factsOf({ received: 'x', amount: 6 }, {}, amounts).unreadable).toBe('amount_mismatch')
  })
})

describe('when it occurred', () => {
  const occurredAt = (members: object): unknown => read({ ...whole, ...members }).facts.occurredAt

  it('is read from seconds in created', () => {
    expect(occurredAt({ created: 1_760_000_000 })).toBe('2025-10-09T08:53:20.000Z')
    expect(occurredAt({ created: 0 })).toBe('1970-01-01T00:00:00.000Z')
  })

  it('is read from an ISO 8601 timestamp', () => {
    expect(occurredAt({ timestamp: '2026-01-01T00:00:00.123456Z' })).toBe('2026-01-01T00:00:00.123Z')
    expect(occurredAt({ timestamp: '2026-01-01T02:00:00+02:00' })).toBe('2026-01-01T00:00:00.000Z')
  })

  it('is read from milliseconds, which Clerk sends', () => {
    expect(occurredAt({ timestamp: 1_764_338_400_123 })).toBe('2025-11-28T14:00:00.123Z')
    expect(occurredAt({ created: 1_760_000_000_000 })).toBe('2025-10-09T08:53:20.000Z')
  })

  it('is read from seconds in timestamp', () => {
    expect(occurredAt({ timestamp: 1_760_000_000 })).toBe('2025-10-09T08:53:20.000Z')
  })

  it.each([
    ['milliseconds far beyond the year 9999', { timestamp: 1_760_000_000_000_000 }],
    ['a moment beyond the year 9999 in another zone', { timestamp: '9999-12-31T23:59:59-12:00' }],
    ['a text that is no moment', { timestamp: 'yesterday' }],
    ['an impossible day', { timestamp: '2026-02-31T25:00:00Z' }],
    ['a moment without its zone', { timestamp: '2026-01-01T00:00:00' }],
    ['null', { created: null, timestamp: null }],
  ])('is not read from %s', (_, members) => {
    expect(occurredAt(members)).toBeUndefined()
  })
})
