import { expect, it } from 'vitest'
import { type Alternatives, firstUnmet, meets } from './conditions.ts'

const document = { type: 'charge', amount: 1_999, big: 9_007_199_254_740_993n, paid: true, note: null, items: ['a'] }

it.each<[boolean, Alternatives]>([
  [true, {}],
  [true, { '/type': 'charge', '/amount': 1_999, '/paid': true, '/note': null, '/items/0': 'a' }],
  [false, { '/type': 'charge', '/amount': '1999' }],
  [false, { '/paid': 'true' }],
  [false, { '/missing': null }],
  [true, { '/type': { prefix: 'char' } }],
  [false, { '/type': { prefix: 'harge' } }],
  [false, { '/amount': { prefix: '1' } }],
  [true, { '/type': { in: ['refund', 'charge'] }, '/note': { in: [1, null] } }],
  [false, { '/amount': { in: ['1999'] } }],
  [true, { '/amount': { gte: 1_999, lte: 1_999 } }],
  [true, { '/amount': { gt: 1_998.5, lt: 2_000 } }],
  [false, { '/amount': { gt: 1_999 } }],
  [false, { '/amount': { lt: 1_999 } }],
  [true, { '/big': { gt: Number.MAX_SAFE_INTEGER } }],
  [false, { '/type': { gte: 0 } }],
  [false, { '/missing': { lt: 5 } }],
  [true, [{ '/type': 'refund' }, { '/amount': { gt: 0 }, '/paid': true }]],
  [false, [{ '/type': 'refund' }, { '/amount': { gt: 0 }, '/paid': false }]],
])('it is %s that a document meets %o', (isMet, conditions) => {
  expect(meets(document, conditions)).toBe(isMet)
})

it('names the first pointer that differs, of alternatives in the first of them', () => {
  expect(firstUnmet(document, { '/type': 'charge', '/paid': false, '/note': 1 })).toBe('/paid')
  expect(firstUnmet(document, [{ '/type': 'refund' }, { '/paid': false }])).toBe('/type')
})
