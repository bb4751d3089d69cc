import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hasKey, onlyValueOf, valuesOf } from './list-signature.ts'

/** The plain way to say the same: split, then split again. */
function splitValues(header: string, separator: string, name: string): string[] {
  return header
    .split(separator)
    .map((member) => [member.split('=', 1)[0], member.split('=').slice(1).join('=')] as const)
    .filter(([one]) => one === name)
    .map(([, value]) => value)
}

describe('a list of items', () => {
  it.each([
    ['t=1,v1=a,v1=b', 'v1', undefined],
    ['v1=a', 't', null],
    ['v1', 'v1', ''],
    ['v1=', 'v1', ''],
    ['v1=a=b', 'v1', 'a=b'],
    ['v10=a,v1=b', 'v1', 'b'],
    ['xv1=a', 'v1', null],
    [' v1=a, v1=b', 'v1', null],
    ['', 'v1', null],
    [',,v1=a,', 'v1', 'a'],
  ])('is read from %j', (header, name, only) => {
    expect(hasKey({ header, separator: ',' }, name)).toBe(only !== null)
    expect(onlyValueOf({ header, separator: ',' }, name)).toBe(only ?? undefined)
  })

  it('is read from every header as splitting it does', () => {
    const piece = fc.constantFrom('t', 'v1', 'v', '1', '=', '=', ',', ';', ' ', 'a', 'v1=0a', 't=1')
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), fc.constantFrom(',', ';'), (pieces, separator) => {
        const header = pieces.join('')
        for (const name of ['t', 'v1']) {
          const values = splitValues(header, separator, name)
          expect(hasKey({ header, separator }, name)).toBe(values.length > 0)
          expect(onlyValueOf({ header, separator }, name)).toBe(values.length === 1 ? values[0] : undefined)
          expect(valuesOf({ header, separator }, name)).toEqual(values)
        }
      }),
      { numRuns: 2_000 },
    )
  })
})
