import { describe, expect, it } from 'vitest'
import { landingsOf } from './commit-changes.ts'

const USED = {
  code: 11000,
  errmsg: 'E11000 duplicate key error collection: a.orders index: payment_pays_one_order dup key: {}',
}

describe('landingsOf', () => {
  it('says landed when all have matched', () => {
    expect(landingsOf({ n: 2, refused: [] }, 2)).toEqual(['landed', 'landed'])
  })

  it('says perhaps for all when one has not matched, for the reply does not say which', () => {
    expect(landingsOf({ n: 1, refused: [] }, 2)).toEqual(['perhaps', 'perhaps'])
  })

  it('finds the payment that has paid another order', () => {
    expect(landingsOf({ n: 1, refused: [{ index: 0, ...USED }] }, 2)).toEqual(['payment_used', 'landed'])
    expect(landingsOf({ n: 0, refused: [{ index: 0, ...USED }] }, 2)).toEqual(['payment_used', 'perhaps'])
  })

  it('goes by the index that the server names, not by the values of the key', () => {
    const errmsg =
      'E11000 duplicate key error collection: a.orders index: other dup key: { x: " index: payment_pays_one_order " }'
    expect(landingsOf({ n: 1, refused: [{ index: 0, code: 11000, errmsg }] }, 2)).toEqual(['unknown', 'landed'])
    const wrapped = `Plan executor error during update :: caused by :: ${USED.errmsg}`
    const refused = [{ index: 0, ...USED, errmsg: wrapped }]
    expect(landingsOf({ n: 1, refused }, 2)).toEqual(['payment_used', 'landed'])
  })

  it('tells a stored order that does not take the change from a fault of the server', () => {
    const refused = [{ index: 1, code: 14, errmsg: 'Cannot apply $inc to a value of non-numeric type' }]
    expect(landingsOf({ n: 1, refused }, 2)).toEqual(['landed', 'unchangeable'])
  })

  it('knows nothing of a statement with any other error', () => {
    const errors = [{ index: 1, code: 11600, errmsg: 'interrupted' }]
    expect(landingsOf({ n: 1, refused: errors }, 2)).toEqual(['landed', 'unknown'])
  })
})
