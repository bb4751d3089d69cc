import { describe, expect, it } from 'vitest'
import { idOfValues } from './id-of-values.ts'
import { readJson } from './json-object.ts'

/** As a body has them. */
function idOf(...texts: readonly (string | undefined)[]): string | undefined {
  return idOfValues(texts.map((text) => (text === undefined ? undefined : readJson(Buffer.from(text)))))
}

describe('the id of several values', () => {
  it('is the same for the same values', () => {
    const long = '12345678901234567890'
    expect(idOf('"a"', long, '{"b":[1,null]}')).toMatch(/^sha256:[\w-]{43}$/)
    expect(idOf('"a"', long, ' { "b" : [ 1, null ] } ')).toBe(idOf('"a"', long, '{"b":[1,null]}'))
  })

  it('is another for other values, wherever they stand', () => {
    const lists: readonly (readonly (string | undefined)[])[] = [
      ['"a"', '"b"'],
      ['"b"', '"a"'],
      ['"ab"', '""'],
      ['"ab"', undefined],
      [undefined, '"ab"'],
      ['"ab"', 'null'],
      ['["a","b"]', undefined],
      ['[["a"],["b"]]', undefined],
      ['"a\\",\\"b"', undefined],
      ['1', '2'],
      ['"1"', '"2"'],
      ['12', undefined],
      ['12345678901234567890', undefined],
      ['12345678901234567891', undefined],
      ['"12345678901234567890"', undefined],
      ['"number 12345678901234567890"', undefined],
      ['{"a":12345678901234567890}', undefined],
      ['{"a":"12345678901234567890"}', undefined],
      ['true', undefined],
      ['"true"', undefined],
    ]
    const ids = lists.map((list) => idOf(...list))
    expect(new Set(ids).size).toBe(lists.length)
  })

  it('is none if all are missing', () => {
    expect(idOf(undefined, undefined)).toBeUndefined()
    expect(idOf(undefined, 'null')).toBeDefined()
  })
})
