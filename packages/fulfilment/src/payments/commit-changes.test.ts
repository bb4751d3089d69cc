import { describe, expect, it } from 'vitest'
import { toCommitResults } from './commit-changes.ts'

const USED = {
  code: 11000,
  errmsg: 'E11000 duplicate key error collection: a.orders index: payment_pays_one_order dup key: {}',
}

describe('toCommitResults', () => {
  it('finds the payment that has paid another order', () => {
    expect(toCommitResults({ n: 1, refused: [{ index: 0, ...USED }] }, [[0], [1]])).toEqual([
      'payment_used',
      'committed',
    ])
    expect(toCommitResults({ n: 0, refused: [{ index: 0, ...USED }] }, [[0], [1]])).toEqual([
      'payment_used',
      'unconfirmed',
    ])
  })

  it('uses the index that the server names, not the values of the key', () => {
    const errmsg =
      'E11000 duplicate key error collection: a.orders index: other dup key: { x: " index: payment_pays_one_order " }'
    expect(toCommitResults({ n: 1, refused: [{ index: 0, code: 11000, errmsg }] }, [[0], [1]])).toEqual([
      'unknown',
      'committed',
    ])
    const wrapped = `Plan executor error during update :: caused by :: ${USED.errmsg}`
    const refused = [{ index: 0, ...USED, errmsg: wrapped }]
    expect(toCommitResults({ n: 1, refused }, [[0], [1]])).toEqual(['payment_used', 'committed'])
  })

  it('distinguishes a stored order that does not take the change from a fault of the server', () => {
    const refused = [{ index: 1, code: 14, errmsg: 'Cannot apply $inc to a value of non-numeric type' }]
    expect(toCommitResults({ n: 1, refused }, [[0], [1]])).toEqual(['committed', 'unchangeable'])
  })

  it('takes the result of a merged statement for each of its places', () => {
    const places = [[2], [0, 1]]
    expect(toCommitResults({ n: 3, refused: [] }, places)).toEqual(['committed', 'committed', 'committed'])
    expect(toCommitResults({ n: 2, refused: [] }, places)).toEqual(['unconfirmed', 'unconfirmed', 'unconfirmed'])
    const first = [{ index: 0, ...USED }]
    expect(toCommitResults({ n: 2, refused: first }, places)).toEqual(['committed', 'committed', 'payment_used'])
  })

  it('confirms nothing of a merged statement that was refused: any of its changes may be stored', () => {
    const refused = [{ index: 1, ...USED }]
    expect(toCommitResults({ n: 1, refused }, [[2], [0, 1]])).toEqual(['unconfirmed', 'unconfirmed', 'committed'])
  })
})
