import { gunzipSync } from 'node:zlib'
import type { Variation } from '../attempt.ts'

type Rewrite = (body: Buffer) => Buffer | null

interface BodyChange {
  readonly message: string
  readonly rewrite: Rewrite
}

const exactly = 'Verify the received bytes before anything parses or stores them, and check that no proxy rewrites them'

/** Possible changes of a body in transit, each undone. `maxBytes` limits decompression. */
export function bodyVariations(body: Buffer, maxBytes: number): Variation[] {
  const seen = new Set([body.toString('latin1')])
  return changes(maxBytes).flatMap(({ message, rewrite }): Variation[] => {
    const rewritten = tryTo(rewrite, body)
    if (rewritten === null || seen.has(rewritten.toString('latin1'))) return []
    seen.add(rewritten.toString('latin1'))
    return [
      {
        axis: 'body',
        cause: 'body_changed',
        message: `The body was changed in transit: ${message}`,
        fix: exactly,
        apply: (attempt) => ({ ...attempt, delivery: { ...attempt.delivery, rawBody: rewritten } }),
      },
    ]
  })
}

function tryTo(rewrite: Rewrite, body: Buffer): Buffer | null {
  try {
    return rewrite(body)
  } catch {
    return null
  }
}

function changes(maxBytes: number): BodyChange[] {
  return [
    { message: 'a newline was added at the end', rewrite: onText((text) => text.replace(/\r?\n$/, '')) },
    { message: 'the newline at the end was removed', rewrite: onText((text) => `${text}\n`) },
    { message: 'the CR LF at the end was removed', rewrite: onText((text) => `${text}\r\n`) },
    { message: 'whitespace was added around it', rewrite: onText((text) => text.trim()) },
    {
      message: 'a byte order mark was added at the start',
      rewrite: onText((text) => text.replace(/^\u00ef\u00bb\u00bf/, '')),
    },
    { message: 'CR LF became LF', rewrite: onText((text) => text.replaceAll(/\r?\n/g, '\r\n')) },
    { message: 'LF became CR LF', rewrite: onText((text) => text.replaceAll('\r\n', '\n')) },
    { message: 'it was encoded as base64', rewrite: onText((text) => fromBase64(text)) },
    { message: 'it is still compressed', rewrite: (body) => gunzipSync(body, { maxOutputLength: maxBytes }) },
    { message: 'its UTF-8 was read as Latin-1 and encoded again', rewrite: (body) => undoLatin1(body) },
    { message: 'its UTF-8 became Latin-1', rewrite: onText((text) => text, 'utf8') },
    { message: 'it was encoded as a JSON string', rewrite: (body) => fromJsonText(body) },
    { message: 'spaces in the form were encoded as %20', rewrite: onText((text) => text.replaceAll('%20', '+')) },
    { message: 'spaces in the form were encoded as +', rewrite: onText((text) => text.replaceAll('+', '%20')) },
    ...jsonChanges(),
  ]
}

/** By default, each character is one byte. */
function onText(rewrite: (text: string) => string, written: 'latin1' | 'utf8' = 'latin1'): Rewrite {
  return (body) => Buffer.from(rewrite(body.toString('latin1')), written)
}

function fromBase64(text: string): string {
  const bytes = Buffer.from(text.trim(), 'base64')
  if (bytes.toString('base64') !== text.trim()) throw new Error('No base64')
  return bytes.toString('latin1')
}

function undoLatin1(body: Buffer): Buffer {
  const text = body.toString('utf8')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the whole of Latin-1 is meant
  if (!/^[\u0000-\u00ff]*$/.test(text)) throw new Error('No Latin-1')
  return Buffer.from(text, 'latin1')
}

function fromJsonText(body: Buffer): Buffer {
  const text: unknown = JSON.parse(body.toString('utf8'))
  if (typeof text !== 'string') throw new Error('No text')
  return Buffer.from(text)
}

/** The ways in which libraries serialize the same JSON, with and without a final newline. */
function jsonChanges(): BodyChange[] {
  return layouts.flatMap(({ message, write }) =>
    spellings.flatMap((spelling) =>
      ['', '\n'].map((ending): BodyChange => {
        const how = [message, spelling.message, ending === '' ? '' : 'with a final newline'].filter(
          (part) => part !== '',
        )
        return {
          message: `it was parsed and serialized again (signed ${how.join(', ')})`,
          rewrite: (body) => Buffer.from(spelling.write(write(JSON.parse(body.toString('utf8')))) + ending),
        }
      }),
    ),
  )
}

const layouts: readonly { readonly message: string; readonly write: (value: unknown) => string }[] = [
  { message: 'without whitespace', write: (value) => JSON.stringify(value) },
  { message: 'with an indentation of two spaces', write: (value) => JSON.stringify(value, null, 2) },
  { message: 'with an indentation of four spaces', write: (value) => JSON.stringify(value, null, 4) },
  { message: 'with tabs', write: (value) => JSON.stringify(value, null, '\t') },
  { message: 'with a space after each comma and colon', write: (value) => writeSpaced(value) },
  { message: 'without whitespace, keys sorted', write: (value) => JSON.stringify(sortMembers(value)) },
  {
    message: 'with a space after each comma and colon, keys sorted',
    write: (value) => writeSpaced(sortMembers(value)),
  },
]

const spellings: readonly { readonly message: string; readonly write: (json: string) => string }[] = [
  { message: '', write: (json) => json },
  { message: 'non-ASCII characters escaped', write: escapeBeyondAscii },
  { message: 'slashes escaped', write: (json) => json.replaceAll('/', '\\/') },
  {
    message: 'slashes and non-ASCII characters escaped',
    write: (json) => escapeBeyondAscii(json.replaceAll('/', '\\/')),
  },
  {
    message: '<, > and & escaped',
    write: (json) => json.replaceAll(/[<>&]/g, (sign) => `\\u00${sign.charCodeAt(0).toString(16)}`),
  },
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

function sortMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortMembers)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
  return Object.fromEntries(members.map(([name, member]) => [name, sortMembers(member)]))
}
