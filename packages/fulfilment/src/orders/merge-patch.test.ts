import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { mergePatch } from './change-order.ts'

// RFC 7396 appendix A.
const EXAMPLES: [target: unknown, patch: unknown, result: unknown][] = [
  [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
  [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
  [{ a: 'b' }, { a: null }, {}],
  [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
  [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
  [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
  [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
  [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
  [
    ['a', 'b'],
    ['c', 'd'],
    ['c', 'd'],
  ],
  [{ a: 'b' }, ['c'], ['c']],
  [{ a: 'foo' }, null, null],
  [{ a: 'foo' }, 'bar', 'bar'],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: 'b', c: null }, { a: 'b' }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
]

describe('mergePatch', () => {
  it.each(EXAMPLES)('gives what RFC 7396 shows for %j with %j', (target, patch, result) => {
    expect(mergePatch(target, patch)).toEqual(result)
  })

  it('treats __proto__ as a property and leaves prototypes alone', () => {
    const patched = mergePatch({}, JSON.parse('{"__proto__": {"polluted": true}}')) as object
    expect(Object.keys(patched)).toEqual(['__proto__'])
    expect(Object.getPrototypeOf(patched)).toBe(Object.prototype)
    expect('polluted' in {}).toBe(false)
  })

  it('changes none of its arguments and gives the same again when applied twice', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (target, patch) => {
        const before = JSON.stringify([target, patch])
        const once = mergePatch(target, patch)
        expect(mergePatch(once, patch)).toEqual(once)
        expect(JSON.stringify([target, patch])).toBe(before)
      }),
    )
  })
})
