import { invalidBody } from '@oncehook/kernel/http/error-codes'

const OPENING_BRACE = 0x7b
// Tab, line feed, carriage return, space.
const BLANKS = new Set([0x09, 0x0a, 0x0d, 0x20])

/** Whether a body is not a JSON object. The bytes decide: they are signed, and the Content-Type is not. */
export function isFormBody(rawBody: Buffer): boolean {
  return rawBody.find((byte) => !BLANKS.has(byte)) !== OPENING_BRACE
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * The fields of a form (application/x-www-form-urlencoded). No field may be repeated. Own code, because `URLSearchParams`
 * also accepts broken escapes and invalid UTF-8.
 * @throws invalidBody
 */
export function readForm(rawBody: Buffer): ReadonlyMap<string, string> {
  const fields = new Map<string, string>()
  for (const pair of decodeText(rawBody).split('&')) {
    const equals = pair.indexOf('=')
    const [name, value] = equals === -1 ? [pair, ''] : [pair.slice(0, equals), pair.slice(equals + 1)]
    const decoded = decodeComponent(name)
    if (fields.has(decoded)) throw invalidBody({ reason: 'field twice' }, { message: 'The form has a duplicate field' })
    fields.set(decoded, decodeComponent(value))
  }
  return fields
}

function decodeText(rawBody: Buffer): string {
  try {
    return decoder.decode(rawBody)
  } catch {
    throw invalidBody({ reason: 'utf-8' }, { message: 'The body is not valid UTF-8' })
  }
}

function decodeComponent(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw invalidBody({ reason: 'escape' }, { message: 'The body is not a form' })
  }
}
