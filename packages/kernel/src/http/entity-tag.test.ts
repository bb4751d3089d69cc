import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { countCpuTime } from '../testing/cpu-time.ts'
import { invalidRequest } from './error-codes.ts'
import { type EntityTag, formatEntityTag, matchesStrongly, matchesWeakly, parseEntityTagList } from './preconditions.ts'

const tagText = fc.string({
  unit: fc
    .integer({ min: 0x21, max: 0xff })
    .filter((code) => code !== 0x22 && code !== 0x7f)
    .map((code) => String.fromCharCode(code)),
})
const tags = fc.record({ weak: fc.boolean(), value: tagText })
const blanks = fc.string({ unit: fc.constantFrom(' ', '\t'), maxLength: 3 })
const written = ({ weak, value }: EntityTag): string => `${weak ? 'W/' : ''}"${value}"`

function refuses(value: string): void {
  let thrown: unknown
  try {
    parseEntityTagList(value)
  } catch (error) {
    thrown = error
  }
  expect(invalidRequest.is(thrown), `${JSON.stringify(value.slice(0, 40))} is refused`).toBe(true)
}

describe('formatEntityTag', () => {
  it('writes a strong tag that reads back as it was', () => {
    expect(formatEntityTag(7)).toBe('"7"')
    fc.assert(
      fc.property(fc.maxSafeNat(), (version) => {
        const list = parseEntityTagList(formatEntityTag(version))
        expect(list).toEqual([{ weak: false, value: String(version) }])
        expect(matchesStrongly(list, version)).toBe(true)
        expect(matchesStrongly(list, version + 1)).toBe(false)
      }),
    )
  })
})

describe('parseEntityTagList', () => {
  it('reads every list, whatever its whitespace and empty items', () => {
    const separator = fc.tuple(blanks, fc.constantFrom(',', ',,', ', ,'), blanks).map((parts) => parts.join(''))
    fc.assert(
      fc.property(fc.array(fc.tuple(tags, separator), { minLength: 1 }), blanks, (members, around) => {
        const text = members.map(([tag, comma], index) => (index === 0 ? '' : comma) + written(tag)).join('')
        expect(parseEntityTagList(`${around}${text}${around}`)).toEqual(members.map(([tag]) => tag))
      }),
    )
  })

  it.each([
    ['"a,b"', [{ weak: false, value: 'a,b' }]],
    ['"a\\"', [{ weak: false, value: 'a\\' }]],
    [
      '"\\", "b"',
      [
        { weak: false, value: '\\' },
        { weak: false, value: 'b' },
      ],
    ],
    ['""', [{ weak: false, value: '' }]],
    [
      'W/"", "W/"',
      [
        { weak: true, value: '' },
        { weak: false, value: 'W/' },
      ],
    ],
    ['"*"', [{ weak: false, value: '*' }]],
    [',"1",', [{ weak: false, value: '1' }]],
    ['"é"', [{ weak: false, value: 'é' }]],
  ])('reads %s', (text, expected) => {
    expect(parseEntityTagList(text)).toEqual(expected)
  })

  it.each(['*', ' * ', '\t*'])('reads %j as any representation', (text) => {
    expect(parseEntityTagList(text)).toBe('*')
  })

  it.each([
    ['nothing', ''],
    ['blanks', ' \t'],
    ['commas alone', ',,,'],
    ['an unquoted tag', '7'],
    ['an open quote', '"7'],
    ['a closing quote alone', '7"'],
    ['single quotes', "'7'"],
    ['* beside a tag', '*, "7"'],
    ['a tag beside *', '"7", *'],
    ['* twice', '*, *'],
    ['**', '**'],
    ['a weak star', 'W/*'],
    ['w in lower case', 'w/"7"'],
    ['a blank after W/', 'W/ "7"'],
    ['W alone', 'W"7"'],
    ['tags without a comma', '"7" "8"'],
    ['tags that touch', '"7""8"'],
    ['a semicolon', '"7"; "8"'],
    ['a blank inside', '"a b"'],
    ['a tab inside', '"a\tb"'],
    ['a control character inside', '"a\u0001"'],
    ['delete inside', '"a\u007f"'],
    ['an escaped quote', '"a\\"b"'],
    ['a line break', '"7"\n'],
    ['another kind of blank around a star', '\u00a0*'],
    ['another kind of blank around a tag', '\u00a0"7"'],
    ['a character beyond Latin-1', '"\u0416"'],
  ])('refuses %s', (_what, text) => {
    refuses(text)
  })

  it('reads or refuses anything, and throws nothing else', () => {
    const hostile = fc.string({
      unit: fc.constantFrom('"', '*', ',', ' ', 'W', '/', '\\', '7', '\u0000', '\u00a0', '\u0416'),
    })
    fc.assert(
      fc.property(fc.oneof(fc.string(), hostile), (text) => {
        try {
          parseEntityTagList(text)
        } catch (error) {
          expect(invalidRequest.is(error)).toBe(true)
        }
      }),
      { numRuns: 500 },
    )
  })

  it('does not repeat the value in its refusal', () => {
    expect(() => parseEntityTagList('canary')).toThrow('Expected * or a list of entity tags in double quotes')
  })

  it.each([
    ['blanks', `${' '.repeat(200_000)}x`],
    ['commas', `${','.repeat(200_000)}x`],
    ['quotes', '"'.repeat(200_001)],
    ['tags', `${'"1",'.repeat(50_000)}x`],
    ['an open tag', `"${'a'.repeat(200_000)}`],
    ['open weak tags', 'W/'.repeat(100_000)],
    ['blanks and commas', ' ,'.repeat(100_000)],
    ['blanks around a star', `${' '.repeat(100_000)}*${' '.repeat(100_000)}x`],
  ])('takes linear time for 200 kB of %s', (_what, text) => {
    const spent = countCpuTime()
    refuses(text)
    expect(spent()).toBeLessThan(1_000)
  })
})

describe('matchesStrongly and matchesWeakly', () => {
  it.each([
    ['"7"', 7, 'strongly'],
    ['"6", "7"', 7, 'strongly'],
    ['*', 7, 'strongly'],
    ['W/"7"', 7, 'weakly'],
    ['W/"6", W/"7"', 7, 'weakly'],
    ['"07"', 7, 'not at all'],
    ['"6"', 7, 'not at all'],
    ['*', null, 'not at all'],
    ['"null"', null, 'not at all'],
  ] as const)('%s matches version %s %s', (text, version, how) => {
    expect(matchesStrongly(parseEntityTagList(text), version)).toBe(how === 'strongly')
    expect(matchesWeakly(parseEntityTagList(text), version)).toBe(how !== 'not at all')
  })
})
