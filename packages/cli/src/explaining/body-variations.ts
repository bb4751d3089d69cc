import { gunzipSync } from 'node:zlib'
import type { Variation } from './cause.ts'

type Rewrite = (body: Buffer) => Buffer | null

interface BodyChange {
  readonly says: string
  readonly rewrite: Rewrite
}

const exactly = 'Check the bytes as they came, before anything parses or stores them; see that no proxy rewrites them'

/** What may have happened to a body on its way, each undone. `maxBytes` bounds what is unpacked. */
export function bodyVariations(body: Buffer, maxBytes: number): Variation[] {
  const seen = new Set([body.toString('latin1')])
  return changes(maxBytes).flatMap(({ says, rewrite }): Variation[] => {
    const rewritten = tryTo(rewrite, body)
    if (rewritten === null || seen.has(rewritten.toString('latin1'))) return []
    seen.add(rewritten.toString('latin1'))
    return [
      {
        axis: 'body',
        cause: 'body_changed',
        says: `The body was changed on its way: ${says}`,
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
    { says: 'a line end was put behind it', rewrite: onText((text) => text.replace(/\r?\n$/, '')) },
    { says: 'the line end behind it was taken away', rewrite: onText((text) => `${text}\n`) },
    { says: 'the CR LF behind it was taken away', rewrite: onText((text) => `${text}\r\n`) },
    { says: 'blanks were put around it', rewrite: onText((text) => text.trim()) },
    { says: 'a byte order mark was put before it', rewrite: onText((text) => text.replace(/^\u00ef\u00bb\u00bf/, '')) },
    { says: 'its CR LF became LF', rewrite: onText((text) => text.replaceAll(/\r?\n/g, '\r\n')) },
    { says: 'its LF became CR LF', rewrite: onText((text) => text.replaceAll('\r\n', '\n')) },
    { says: 'it was written down in base64', rewrite: onText((text) => fromBase64(text)) },
    { says: 'it is still compressed', rewrite: (body) => gunzipSync(body, { maxOutputLength: maxBytes }) },
    { says: 'its UTF-8 was taken for Latin-1 and encoded again', rewrite: (body) => undoLatin1(body) },
    { says: 'its UTF-8 became Latin-1', rewrite: onText((text) => text, 'utf8') },
    { says: 'it was put as a text into JSON', rewrite: (body) => fromJsonText(body) },
    { says: 'the blanks of the form were written as %20', rewrite: onText((text) => text.replaceAll('%20', '+')) },
    { says: 'the blanks of the form were written as +', rewrite: onText((text) => text.replaceAll('+', '%20')) },
    ...jsonChanges(),
  ]
}

/** Works on bytes one to one, unless told otherwise. */
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

/** The ways in which libraries write the same JSON, beside what each of them may put behind it. */
function jsonChanges(): BodyChange[] {
  return layouts.flatMap(({ says, write }) =>
    spellings.flatMap((spelling) =>
      ['', '\n'].map((ending): BodyChange => {
        const how = [says, spelling.says, ending === '' ? '' : 'with a line end'].filter((part) => part !== '')
        return {
          says: `it was parsed and written again (it was signed ${how.join(', ')})`,
          rewrite: (body) => Buffer.from(spelling.write(write(JSON.parse(body.toString('utf8')))) + ending),
        }
      }),
    ),
  )
}

const layouts: readonly { readonly says: string; readonly write: (value: unknown) => string }[] = [
  { says: 'without blanks', write: (value) => JSON.stringify(value) },
  { says: 'with two blanks of indentation', write: (value) => JSON.stringify(value, null, 2) },
  { says: 'with four blanks of indentation', write: (value) => JSON.stringify(value, null, 4) },
  { says: 'with tabs', write: (value) => JSON.stringify(value, null, '\t') },
  { says: 'with a blank behind each comma and colon', write: (value) => writeSpaced(value) },
  { says: 'without blanks, its members sorted', write: (value) => JSON.stringify(sortMembers(value)) },
  {
    says: 'with a blank behind each comma and colon, its members sorted',
    write: (value) => writeSpaced(sortMembers(value)),
  },
]

const spellings: readonly { readonly says: string; readonly write: (json: string) => string }[] = [
  { says: '', write: (json) => json },
  { says: 'letters beyond ASCII escaped', write: escapeBeyondAscii },
  { says: 'slashes escaped', write: (json) => json.replaceAll('/', '\\/') },
  {
    says: 'slashes and letters beyond ASCII escaped',
    write: (json) => escapeBeyondAscii(json.replaceAll('/', '\\/')),
  },
  {
    says: '<, > and & escaped',
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
