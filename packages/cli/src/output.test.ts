import { describe, expect, it } from 'vitest'
import { toDuration, toMoney, toPrintable } from './output.ts'

describe('toPrintable', () => {
  it('keeps text and takes what steers a terminal', () => {
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

describe('toMoney', () => {
  it.each([
    [1999, 'EUR', '19.99 EUR'],
    [1999, 'JPY', '1999 JPY'],
    [1999, 'KWD', '1.999 KWD'],
  ])('writes %d minor units of %s as %s', (amount, currency, text) => {
    expect(toMoney(amount, currency)).toBe(text)
  })
})
