import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isTooLargeForm, readTwilioForm } from './twilio-form.ts'

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The text of a form, or null for bytes that are none or are written in another way than Twilio does. */
function textOf(bytes: Buffer): string | null {
  try {
    const text = decoder.decode(bytes)
    decodeURIComponent(text)
    return /^(?:[^%\s]|%[0-9A-F]{2})*$/u.test(text) ? text : null
  } catch {
    return null
  }
}

function decoded(text: string): string {
  return decodeURIComponent(text.replaceAll('+', ' '))
}

const token = fc.constantFrom(
  ...['&', '=', '+', '%', '%41', '%2B', '%2b', '%C3%A9', '%C3', '%ED%A0%80', '%4', '%%', 'a', 'b', 'é', '😀'],
  ...[' ', '\n', '\u00a0', '\u2028', '\ufeff', '__proto__', 'a=b&', '&b=', '%26', '%3D'],
)
const written = fc.array(token, { maxLength: 12 }).map((tokens) => Buffer.from(tokens.join('')))
const bytes = fc.uint8Array({ maxLength: 12 }).map((units) => Buffer.from(units))

describe('readTwilioForm', () => {
  it('reads names and values in the order sent, and nothing that is written in another way', () => {
    fc.assert(
      fc.property(fc.oneof(written, bytes), (body) => {
        const text = textOf(body)
        const pairs = text === '' ? [] : text?.split('&').map((pair) => pair.split(/=(.*)/s))
        const fields = pairs?.map(([name = '', value = '']) => [decoded(name), decoded(value)])
        expect(readTwilioForm(body)).toEqual(fields ?? null)
      }),
      { numRuns: 3_000 },
    )
  })

  it('reads no form that is larger than any of Twilio’s', () => {
    const bodies = [Buffer.alloc(65_537, 'x'), Buffer.alloc(200, '&'), Buffer.from('a=b&'.repeat(200))]
    for (const body of bodies) expect([isTooLargeForm(body), readTwilioForm(body)]).toEqual([true, null])
    const others = [Buffer.alloc(65_536, 'x'), Buffer.alloc(199, '&'), Buffer.from('a=b&'.repeat(199)), Buffer.alloc(0)]
    for (const body of others) expect(isTooLargeForm(body)).toBe(false)
  })
})
