import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bytesOf, onlyValueOf, valuesOf } from './member-list.ts'

/** The plain way to say the same: split, then split again. */
function splitValues(header: string, separator: string, name: string): string[] {
  return header
    .split(separator)
    .map((member) => [member.split('=', 1)[0], member.split('=').slice(1).join('=')] as const)
    .filter(([one]) => one === name)
    .map(([, value]) => value)
}

describe('valuesOf', () => {
  it.each([
    ['t=1,v1=a,v1=b', 'v1', ['a', 'b']],
    ['v1=a', 't', []],
    ['v1', 'v1', ['']],
    ['v1=', 'v1', ['']],
    ['v1=a=b', 'v1', ['a=b']],
    ['v10=a,v1=b', 'v1', ['b']],
    ['xv1=a', 'v1', []],
    [' v1=a, v1=b', 'v1', []],
    ['', 'v1', []],
    [',,v1=a,', 'v1', ['a']],
  ])('reads %j', (header, name, expected) => {
    expect(valuesOf({ header, separator: ',' }, name)).toEqual(expected)
  })

  it('reads every header as splitting it does', () => {
    const piece = fc.constantFrom('t', 'v1', 'v', '1', '=', ',', ';', ' ', 'a')
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), fc.constantFrom(',', ';'), (pieces, separator) => {
        const header = pieces.join('')
        for (const name of ['t', 'v1']) {
          expect(valuesOf({ header, separator }, name)).toEqual(splitValues(header, separator, name))
        }
      }),
      { numRuns: 2_000 },
    )
  })
})

describe('onlyValueOf', () => {
  it('gives a value that stands there once, and none that is repeated', () => {
    expect(onlyValueOf({ header: 't=1,v1=a', separator: ',' }, 't')).toBe('1')
    expect(onlyValueOf({ header: 't=1,t=1', separator: ',' }, 't')).toBeUndefined()
    expect(onlyValueOf({ header: 'v1=a', separator: ',' }, 't')).toBeUndefined()
  })
})

describe('bytesOf', () => {
  it('passes over what is no lower-case hexadecimal', () => {
    const members = { header: 'v1=,v1=0,v1=AB,v1=ab,v1=zz,v1=00ff', separator: ',' }
    expect(bytesOf(members, 'v1')).toEqual([Buffer.from([0xab]), Buffer.from([0x00, 0xff])])
  })
})
