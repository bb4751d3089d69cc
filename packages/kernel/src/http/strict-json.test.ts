import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { countCpuTime } from '../testing/cpu-time.ts'
import { invalidBody } from './error-codes.ts'
import type { AppError } from './errors.ts'
import { parseStrictJson, type StrictJsonOptions } from './strict-json.ts'

const MEGABYTE = 1_000_000
const bytesOf = (text: string): Uint8Array => Buffer.from(text)
const parse = (text: string, options?: StrictJsonOptions): unknown => parseStrictJson(bytesOf(text), options)
const exact = (text: string): unknown => parse(text, { exactNumbers: true })

function refusalOf(work: () => unknown): AppError {
  try {
    work()
  } catch (error) {
    if (invalidBody.is(error)) return error
    throw error
  }
  throw new Error('The text was accepted')
}

const reasonOf = (work: () => unknown): unknown => refusalOf(work).details.reason

/** The milliseconds of processor time that a malicious text costs, whatever the result. */
function costOf(text: string, options?: StrictJsonOptions): number {
  const bytes = bytesOf(text)
  const spent = countCpuTime()
  try {
    parseStrictJson(bytes, options)
  } catch (error) {
    expect(invalidBody.is(error)).toBe(true)
  }
  return spent()
}

/** A string literal with some characters escaped, which does not change its meaning. */
const escaped = (name: string): fc.Arbitrary<string> =>
  fc.array(fc.boolean(), { minLength: name.length, maxLength: name.length }).map((hide) => {
    const units = name.split('').map((unit, at) => {
      const code = unit.charCodeAt(0)
      const plain = !hide[at] && code >= 0x20 && unit !== '"' && unit !== '\\' && (code < 0xd800 || code > 0xdfff)
      return plain ? unit : `\\u${code.toString(16).padStart(4, '0')}`
    })
    return `"${units.join('')}"`
  })

const blank = fc.string({ unit: fc.constantFrom(' ', '\t', '\n', '\r'), maxLength: 3 })

describe('parseStrictJson', () => {
  it('reads every JSON value as JSON.parse does', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), fc.constantFrom(0, 1, 2, '\t'), (value, indent) => {
        const text = JSON.stringify(value, null, indent)
        expect(parse(text, { maxDepth: 1_000 })).toEqual(JSON.parse(text))
      }),
    )
  })

  it('refuses a duplicate property name in one object, at any depth and however it is spelled', () => {
    const wrap = fc.constantFrom<(text: string) => string>(
      (text) => text,
      (text) => `[1,${text},2]`,
      (text) => `{"outer":${text}}`,
      (text) => `{"x":[{}],"outer":[["]}",${text}]],"y":{}}`,
    )
    const twice = fc
      .string({ unit: 'binary' })
      .filter((name) => name !== '#')
      .chain((name) => fc.tuple(escaped(name), escaped(name)))
    fc.assert(
      fc.property(twice, fc.tuple(blank, fc.jsonValue()), fc.tuple(wrap, wrap), ([first, second], filling, wraps) => {
        const [space, value] = filling
        const member = `${space}:${JSON.stringify(value)}`
        const text = `{${space}${first}${member},"#":[],${second}${member}}`
        const wrapped = wraps.reduce((inner, around) => around(inner), text)
        expect(reasonOf(() => parse(wrapped, { maxDepth: 1_000 }))).toBe('duplicate')
      }),
      { numRuns: 300 },
    )
  })

  const token = fc.oneof(
    fc.constantFrom(...'{}[],:"-.eE+0\\', '"a":', '"a"', '\\"', 'true', 'nul', ' ', '1', '00', '\u00a0'),
    fc.constantFrom(
      '9007199254740993',
      '09007199254740993',
      '9007199254740993.',
      '-9007199254740993',
      '1e999',
      '1e',
      '--1',
    ),
  )
  const readings: readonly StrictJsonOptions[] = [{}, { exactNumbers: true }, { bigIntegers: true }, { maxDepth: 1 }]

  it('refuses as invalid JSON exactly the texts that JSON.parse refuses, whatever else is wrong with them', () => {
    const isJson = (text: string): boolean => {
      try {
        JSON.parse(text)
        return true
      } catch {
        return false
      }
    }
    const isRefused = (text: string, options: StrictJsonOptions): boolean => {
      try {
        parse(text, options)
        return false
      } catch (error) {
        return invalidBody.is(error) && error.details.reason === 'syntax'
      }
    }
    fc.assert(
      fc.property(fc.array(token, { maxLength: 8 }), fc.constantFrom(...readings), (tokens, options) => {
        for (const text of [tokens.join(''), `[${tokens.join('')}]`, `{"b":${tokens.join('')}}`]) {
          if (isRefused(text, options) === isJson(text)) expect.fail(text)
        }
      }),
      { numRuns: 1_000 },
    )
  })

  it.each([
    ['a stray continuation byte', [0x22, 0x80, 0x22]],
    ['a cut sequence', [0x22, 0xe2, 0x82, 0x22]],
    ['an overlong slash', [0x22, 0xc0, 0xaf, 0x22]],
    ['an encoded surrogate', [0x22, 0xed, 0xa0, 0x80, 0x22]],
    ['a character beyond Unicode', [0x22, 0xf4, 0x90, 0x80, 0x80, 0x22]],
    ['UTF-16', [0x7b, 0x00, 0x7d, 0x00, 0xff]],
    ['a sequence cut at the end', [0x31, 0xe2, 0x82]],
  ])('refuses %s, and reads the next body all the same', (_what, bytes) => {
    expect(reasonOf(() => parseStrictJson(Uint8Array.from(bytes)))).toBe('utf-8')
    expect(parse('"€"')).toBe('€')
  })

  it('repeats nothing of the body in its refusals', () => {
    for (const text of [
      '{"canary":1,"canary":2}',
      '{"a":canary}',
      '["canary",1e999]',
      `${'['.repeat(70)}"canary"${']'.repeat(70)}`,
    ]) {
      const error = refusalOf(() => exact(text))
      expect(JSON.stringify([error.message, error.stack, error.details, error.cause])).not.toContain('canary')
    }
  })

  it('accepts the permitted depth and no deeper', () => {
    const nested = (levels: number): string => `${'[{"a":'.repeat(levels / 2)}1${'}]'.repeat(levels / 2)}`
    expect(() => parse(nested(64))).not.toThrow()
    expect(reasonOf(() => parse(`[${nested(64)}]`))).toBe('depth')
    expect(() => parse('[[1],[2],[{}],"[[[["]', { maxDepth: 3 })).not.toThrow()
    expect(reasonOf(() => parse('[[[[]]]]', { maxDepth: 3 }))).toBe('depth')
  })

  it('survives a million levels', () => {
    expect(reasonOf(() => parse('['.repeat(MEGABYTE) + ']'.repeat(MEGABYTE)))).toBe('depth')
    expect(reasonOf(() => parse('{"a":'.repeat(MEGABYTE)))).toBe('syntax')
  })

  it('keeps every double as JavaScript writes it, but for integers beyond 2^53 - 1', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
        fc.pre(!Object.is(number, -0) && (!Number.isInteger(number) || Number.isSafeInteger(number)))
        expect(exact(String(number))).toBe(number)
      }),
    )
  })

  describe('if large integers are kept digit by digit', () => {
    /** What a reviver returns for a text, number by number. */
    const revived = (text: string): unknown =>
      JSON.parse(text, (_name, value: unknown, context?: { source?: string }) =>
        typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? '')
          ? BigInt(context?.source ?? '')
          : value,
      )
    const digits = fc.stringMatching(/^-?[1-9][0-9]{0,24}$/)
    const number = fc.oneof(digits, fc.double({ noNaN: true, noDefaultInfinity: true }).map(String))
    const literal = fc.oneof(number, fc.constantFrom('1e17', '-1e400', '9007199254740992', '18014398509481984', '-0'))
    const filling = fc.oneof(
      literal,
      fc.jsonValue().map((value) => JSON.stringify(value)),
    )

    it('reads what a reviver would read', () => {
      fc.assert(
        fc.property(fc.array(filling, { maxLength: 20 }), fc.string(), blank, (parts, name, space) => {
          const members = parts.map((part, at) => `${JSON.stringify(name + at)}:${space}${part}${space}`)
          const text = `[9007199254740993,{"2":9007199254740995,"1":[${parts.join(',')}]},{${members.join(',')}}]`
          expect(parse(text, { maxDepth: 1_000, bigIntegers: true })).toEqual(revived(text))
        }),
      )
    })
  })

  it('refuses a body with too many parts before parsing it', () => {
    expect(parse('{"a":[1,"x,y"]}', { maxParts: 4 })).toEqual({ a: [1, 'x,y'] })
    expect(reasonOf(() => parse('{"a":[1,"x,y"]}', { maxParts: 3 }))).toBe('parts')
    expect(reasonOf(() => parse('[,,', { maxParts: 2 }))).toBe('parts')
  })

  it('takes linear time for a text of 25 MB', () => {
    expect(costOf(`"${'x'.repeat(25 * MEGABYTE)}"`)).toBeLessThan(4_000)
  })

  it.each<[string, string]>([
    ['backslashes', `"${'\\\\'.repeat(MEGABYTE)}"`],
    ['escaped quotes', `["${'\\"'.repeat(MEGABYTE)}"]`],
    ['backslashes before escaped quotes', `"${`${'\\\\'.repeat(1_000)}\\"`.repeat(1_000)}"`],
    ['open backslashes', `"${'\\'.repeat(MEGABYTE)}`],
    ['blanks', `[${' '.repeat(MEGABYTE)}]`],
    ['texts with blanks behind', `[${`"a"${' '.repeat(1_000)},`.repeat(1_000)}1]`],
    ['empty texts', `[${'"",'.repeat(MEGABYTE)}1]`],
    ['digits', '1'.repeat(MEGABYTE)],
    ['zeros behind the point', `0.${'0'.repeat(MEGABYTE)}`],
    ['zeros and a one', `1.${'0'.repeat(MEGABYTE)}1`],
    ['runs of zeros', `0.${`${'0'.repeat(1_000)}1`.repeat(1_000)}`],
    ['digits in the exponent', `1e${'9'.repeat(MEGABYTE)}`],
    ['zeros in the exponent', `0e${'0'.repeat(MEGABYTE)}`],
    ['small numbers', `[${'1,'.repeat(MEGABYTE)}1]`],
    ['open objects', '{"a":'.repeat(MEGABYTE)],
    ['names', `{${Array.from({ length: 100_000 }, (_, at) => `"a${at}":0`).join(',')}}`],
    ['names in escapes', `{${Array.from({ length: 50_000 }, (_, at) => `"\\u0061${at}":0`).join(',')}}`],
  ])('takes linear time for %s', (_what, text) => {
    expect(costOf(text, { exactNumbers: true })).toBeLessThan(15_000)
  })
})
