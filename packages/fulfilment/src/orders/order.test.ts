import { invalidRequest } from '@oncehook/kernel/http/error-codes'
import { describe, expect, it } from 'vitest'
import { sampleOrder } from '../testing/samples.ts'
import { amountDueOf, parseOrderContent } from './order.ts'
import { contentOf, newOrder, toOrder } from './stored/order-document.ts'

const ITEM = { sku: 'book', quantity: 1, unitAmount: 100 }
const NOW = new Date('2026-11-21T10:00:00.000Z')

function metadata(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`name_${index}`, 'value']))
}

describe('parseOrderContent', () => {
  it.each<[string, object]>([
    ['the least', {}],
    ['all optional members', { email: 'a@example.com', note: '', metadata: { 'a.b': 'x', $c: '' } }],
    ['a customer of 255 bytes', { customerId: 'é'.repeat(127) }],
    ['a note of 10,000 characters', { note: '🙂'.repeat(10_000) }],
    ['1,000 items', { items: Array(1_000).fill(ITEM) }],
    ['50 members of metadata', { metadata: metadata(50) }],
    ['a total of 2^53 - 1', { items: [{ ...ITEM, unitAmount: Number.MAX_SAFE_INTEGER }] }],
    ['an item that is free', { items: [{ ...ITEM, unitAmount: 0 }] }],
  ])('takes %s', (_, members) => {
    const order = { ...sampleOrder(), ...members }
    expect(parseOrderContent(order)).toEqual(order)
  })

  it.each<[string, unknown]>([
    ['no object', 'order'],
    ['null', null],
    ['an unknown member', { ...sampleOrder(), discount: 1 }],
    ['a member called __proto__', JSON.parse('{"customerId":"c","currency":"EUR","items":[],"__proto__":{}}')],
    ['metadata with a member called __proto__', { ...sampleOrder(), metadata: JSON.parse('{"__proto__":"x"}') }],
    ['no customer', { ...sampleOrder(), customerId: undefined }],
    ['an empty customer', { ...sampleOrder(), customerId: '' }],
    ['a customer of 256 bytes', { ...sampleOrder(), customerId: 'é'.repeat(128) }],
    ...['\n', '\r', '\t', '\0', '\x7f', '\x85', '\u2028', '\u2029'].map((text): [string, unknown] => [
      `a customer with ${JSON.stringify(text)}`,
      { ...sampleOrder(), customerId: `c1${text}x` },
    ]),
    ['a lone surrogate', { ...sampleOrder(), note: '\ud800' }],
    ['a currency in small letters', { ...sampleOrder(), currency: 'eur' }],
    ['a currency that is none', { ...sampleOrder(), currency: 'ABC' }],
    ['no items', { ...sampleOrder(), items: [] }],
    ['1,001 items', { ...sampleOrder(), items: Array(1_001).fill(ITEM) }],
    ['a quantity of 0', { ...sampleOrder(), items: [{ ...ITEM, quantity: 0 }] }],
    ['a quantity that is no integer', { ...sampleOrder(), items: [{ ...ITEM, quantity: 1.5 }] }],
    ['a negative amount', { ...sampleOrder(), items: [{ ...ITEM, unitAmount: -1 }] }],
    ['an amount of -0.5', { ...sampleOrder(), items: [{ ...ITEM, unitAmount: -0.5 }] }],
    ['an amount beyond 2^53 - 1', { ...sampleOrder(), items: [{ ...ITEM, unitAmount: 2 ** 53 }] }],
    ['an amount that is a text', { ...sampleOrder(), items: [{ ...ITEM, unitAmount: '100' }] }],
    ['a total beyond 2^53 - 1', { ...sampleOrder(), items: [ITEM, { ...ITEM, unitAmount: Number.MAX_SAFE_INTEGER }] }],
    ['an item with an unknown member', { ...sampleOrder(), items: [{ ...ITEM, tax: 1 }] }],
    ['a note of 10,001 characters', { ...sampleOrder(), note: 'x'.repeat(10_001) }],
    ['51 members of metadata', { ...sampleOrder(), metadata: metadata(51) }],
    ['a name of 41 characters in metadata', { ...sampleOrder(), metadata: { ['x'.repeat(41)]: 'v' } }],
    ['a value of 501 characters in metadata', { ...sampleOrder(), metadata: { x: 'v'.repeat(501) } }],
    ['an address that is none', { ...sampleOrder(), email: 'nobody' }],
    ['null for an optional member', { ...sampleOrder(), note: null }],
  ])('refuses %s', (_, order) => {
    expect(() => parseOrderContent(order)).toThrow(expect.objectContaining({ code: invalidRequest.code }))
  })

  it('ignores properties that only the server sets', () => {
    const read = toOrder(newOrder('o1', sampleOrder({ note: 'hello' }), NOW))
    expect(parseOrderContent({ ...read, amountDue: 1, status: 'paid' })).toEqual(sampleOrder({ note: 'hello' }))
  })

  it('names the wrong property and no value', () => {
    const order = sampleOrder({ items: [{ sku: 'canary-sku', quantity: 0, unitAmount: 1 }] })
    expect(() => parseOrderContent(order)).toThrow(/^The order is not valid: items\.0\.quantity: /)
    expect(() => parseOrderContent(order)).not.toThrow(/canary/)
  })
})

describe('amountDueOf', () => {
  it('adds up exactly where a double would not', () => {
    const large = { sku: 'a', quantity: 3, unitAmount: 3_002_399_751_580_330 }
    expect(amountDueOf([large, ITEM].slice(0, 1))).toBe(9_007_199_254_740_990)
    expect(() => amountDueOf([large, ITEM])).toThrow(/2\^53/)
  })
})

describe('toOrder', () => {
  it('returns what was written, with unchanged names of metadata', () => {
    const content = sampleOrder({
      metadata: { $ref: 'a', $id: 'b', _bsontype: 'ObjectId', 'a.b': '', '\u0000': 'nul' },
    })
    const document = newOrder('o1', content, NOW)
    expect(contentOf(document)).toEqual(content)
    expect(toOrder(document)).toMatchObject({
      ...content,
      amountDue: 300,
      status: 'pending',
      access: 'locked',
      payment: null,
    })
  })
})
