import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { countCpuTime } from '../testing/cpu-time.ts'
import { invalidRequest } from './error-codes.ts'
import { type EntityTag, formatEntityTag, parseEntityTagList, readPreconditions } from './preconditions.ts'

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
        const check = readPreconditions({ ifMatch: formatEntityTag(version) })
        expect([check(version), check(version + 1)]).toEqual([null, 'If-Match'])
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
