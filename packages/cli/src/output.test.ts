import { describe, expect, it } from 'vitest'
import { toAge, toDuration, toPrintable, toTime } from './output.ts'

describe('toPrintable', () => {
  it('keeps text and removes terminal control characters', () => {
    expect(toPrintable('{"note":"café €"}')).toBe('{"note":"café €"}')
    expect(toPrintable('a\u001b[31mb\r\nc\u202e')).toBe('a\ufffd[31mb  c\ufffd')
  })

  it('ends after 500 characters', () => {
    expect(toPrintable('x'.repeat(501))).toBe(`${'x'.repeat(500)}…`)
  })
})

describe('toDuration', () => {
  it.each([
    [0.42, '0.4 ms'],
    [12.4, '12 ms'],
    [1250, '1.25 s'],
  ])('writes %d as %s', (ms, text) => {
    expect(toDuration(ms)).toBe(text)
  })
})

describe('toTime', () => {
  it.each([
    ['2026-11-21T08:00:05.999Z', '2026-11-21 08:00:05Z'],
    [null, '-'],
    ['nonsense', '-'],
  ])('writes %s as %s', (iso, text) => {
    expect(toTime(iso)).toBe(text)
  })
})

describe('toAge', () => {
  it.each([
    [0.4, '0 s'],
    [119, '119 s'],
    [121, '2 min'],
    [9_000, '2.5 h'],
    [345_600, '4 d'],
    [null, '-'],
  ])('writes %s seconds as %s', (seconds, text) => {
    expect(toAge(seconds)).toBe(text)
  })
})
