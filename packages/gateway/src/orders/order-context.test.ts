import { describe, expect, it } from 'vitest'
import { returnPreference } from './order-context.ts'

describe('returnPreference', () => {
  it.each([
    [undefined, null],
    ['', null],
    ['return=minimal', 'minimal'],
    ['RETURN = "representation"', 'representation'],
    ['wait=10, return=minimal;foo=bar', 'minimal'],
    ['return=minimal, return=representation', 'minimal'],
    ['return=none, return=minimal', null],
    ['foo="a, return=minimal"', null],
    ['foo="a\\", b", return=minimal', 'minimal'],
    ['foo="unended, return=minimal', null],
    ['returned=minimal', null],
    ['return', null],
    ['return=minimalist', null],
  ])('reads %j', (header, preference) => {
    expect(returnPreference(header)).toBe(preference)
  })
})
