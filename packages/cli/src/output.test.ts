import { expect, it } from 'vitest'
import { toAge, toPrintable } from './output.ts'

it('text keeps its letters, loses terminal control characters, and ends after 500 characters', () => {
  expect(toPrintable('{"note":"café €"}')).toBe('{"note":"café €"}')
  expect(toPrintable('a\u001b[31mb\r\nc\u202e\u2028d')).toBe('a\ufffd[31mb  c\ufffd d')
  expect(toPrintable('x'.repeat(501))).toBe(`${'x'.repeat(500)}…`)
})

it.each([
  [119, '119 s'],
  [121, '2 min'],
  [9_000, '2.5 h'],
  [345_600, '4 d'],
  [null, '-'],
])('%s seconds are written as %s', (seconds, text) => {
  expect(toAge(seconds)).toBe(text)
})
