import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { indentJson } from './indent-json.ts'

describe('indentJson', () => {
  it('keeps every digit, the order of names, and names that are there twice', () => {
    expect(indentJson('{"b":12345678901234567890.10,"a":[],"b":{"c":[1,2]}}')).toBe(
      '{\n  "b": 12345678901234567890.10,\n  "a": [],\n  "b": {\n    "c": [\n      1,\n      2\n    ]\n  }\n}',
    )
  })

  it('leaves signs in strings alone', () => {
    expect(indentJson('["{\\"a\\": [1,2]}"]')).toBe('[\n  "{\\"a\\": [1,2]}"\n]')
  })

  it('answers null for what is not JSON', () => {
    expect(indentJson('a=1&b=2')).toBeNull()
  })

  // The page would freeze while the browser lays the lines out.
  it.each([
    ['many short values, deep inside', `${'['.repeat(60)}${'0,'.repeat(500_000)}0${']'.repeat(60)}`],
    ['one text of 20 MB', JSON.stringify('a'.repeat(20_000_000))],
  ])('answers null for what would become too long: %s', (_, text) => {
    expect(indentJson(text)).toBeNull()
  })

  it('indents as JSON.stringify does', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value)
        expect(indentJson(text)).toBe(JSON.stringify(JSON.parse(text), null, 2))
      }),
    )
  })
})
