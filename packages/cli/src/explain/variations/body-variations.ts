import { gunzipSync } from 'node:zlib'
import type { Variation } from '../attempt.ts'

type Change = readonly [message: string, undo: (body: Buffer) => Buffer]

/** Possible changes of a body in transit, each undone. `maxBytes` limits decompression. */
export function bodyVariations(body: Buffer, maxBytes: number): Variation[] {
  const seen = new Set([body.toString('latin1')])
  const changes: Change[] = [
    ['a newline was added at the end', onText((text) => text.replace(/\r?\n$/, ''))],
    ['the newline at the end was removed', onText((text) => `${text}\n`)],
    ['whitespace was added around it', onText((text) => text.trim())],
    ['a byte order mark was added at the start', onText((text) => text.replace(/^\u00ef\u00bb\u00bf/, ''))],
    ['CR LF became LF', onText((text) => text.replaceAll(/\r?\n/g, '\r\n'))],
    ['LF became CR LF', onText((text) => text.replaceAll('\r\n', '\n'))],
    ['it was encoded as base64', onText(fromBase64)],
    ['it is still compressed', (encoded) => gunzipSync(encoded, { maxOutputLength: maxBytes })],
    ...serializations(),
  ]
  return changes.flatMap(([message, undo]): Variation[] => {
    const rawBody = tryTo(undo, body)
    if (rawBody === null || seen.has(rawBody.toString('latin1'))) return []
    seen.add(rawBody.toString('latin1'))
    return [
      {
        cause: 'body_changed',
        message: `The body was changed in transit: ${message}`,
        fix: 'Verify the received bytes before anything parses or stores them, and check that no proxy rewrites them',
        apply: (attempt) => ({ ...attempt, delivery: { ...attempt.delivery, rawBody } }),
      },
    ]
  })
}

function tryTo(undo: Change[1], body: Buffer): Buffer | null {
  try {
    return undo(body)
  } catch {
    return null
  }
}

/** Each character is one byte. */
function onText(rewrite: (text: string) => string): Change[1] {
  return (body) => Buffer.from(rewrite(body.toString('latin1')), 'latin1')
}

function fromBase64(text: string): string {
  const bytes = Buffer.from(text.trim(), 'base64')
  if (bytes.toString('base64') !== text.trim()) throw new Error('No base64')
  return bytes.toString('latin1')
}

/** The ways in which the libraries of JavaScript, Python, PHP and Go serialize the same JSON. */
function serializations(): Change[] {
  return layouts.flatMap(([layout, write]) =>
    spellings.map(([spelling, spell]): Change => {
      const message = `it was parsed and serialized again (signed ${layout}${spelling})`
      return [message, (body) => Buffer.from(spell(write(JSON.parse(body.toString('utf8')))))]
    }),
  )
}

const layouts: readonly (readonly [message: string, write: (value: unknown) => string])[] = [
  ['without whitespace', (value) => JSON.stringify(value)],
  ['with an indentation of two spaces', (value) => JSON.stringify(value, null, 2)],
  ['with an indentation of four spaces', (value) => JSON.stringify(value, null, 4)],
  ['with a space after each comma and colon', writeSpaced],
]

const spellings: readonly (readonly [message: string, spell: (json: string) => string])[] = [
  ['', (json) => json],
  [', non-ASCII characters escaped', escapeBeyondAscii],
  [', slashes and non-ASCII characters escaped', (json) => escapeBeyondAscii(json.replaceAll('/', '\\/'))],
  [', <, > and & escaped', (json) => json.replaceAll(/[<>&]/g, (sign) => `\\u00${sign.charCodeAt(0).toString(16)}`)],
]

function escapeBeyondAscii(json: string): string {
  return json.replaceAll(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

function writeSpaced(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(writeSpaced).join(', ')}]`
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${writeSpaced(member)}`)
  return `{${members.join(', ')}}`
}
