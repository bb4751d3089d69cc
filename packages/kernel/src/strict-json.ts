import { invalidBody } from './error-codes.ts'

/** Options that make the JSON parser stricter than RFC 8259. */
export interface StrictJsonOptions {
  /**
   * Reject numbers that a double cannot represent exactly, and integers beyond 2^53 - 1 (RFC 7493 section 2.2).
   * Default: false.
   */
  readonly exactNumbers?: boolean
  /** Parse integers beyond 2^53 - 1, up to 255 digits, as bigint instead of the nearest double. Default: false. */
  readonly bigIntegers?: boolean
  /** Maximum nesting depth. Default: 64. */
  readonly maxDepth?: number
  /**
   * Maximum number of commas and opening brackets, including those in strings, checked before parsing. Default: no
   * limit.
   */
  readonly maxParts?: number
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Parses JSON as required by RFC 7493 (I-JSON): valid UTF-8 without a byte order mark, no duplicate keys, limited
 * depth.
 * @throws invalidBody
 */
export function parseStrictJson(bytes: Uint8Array, options: StrictJsonOptions = {}): unknown {
  if (options.maxParts !== undefined) refuseManyParts(bytes, options.maxParts)
  let text: string
  try {
    text = decoder.decode(bytes)
  } catch {
    throw invalidBody({ reason: 'utf-8' }, { says: 'The body is not valid UTF-8' })
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // The parser's message quotes the body, so it is discarded.
    throw invalidBody({ reason: 'syntax' })
  }
  const names = scan(text, { exactNumbers: options.exactNumbers ?? false, maxDepth: options.maxDepth ?? 64 })
  const found: Found = { members: 0, large: false }
  survey(value, found)
  // The parser keeps only one of two duplicate keys.
  if (names !== found.members) throw invalidBody({ reason: 'duplicate' }, { says: 'The body has a member name twice' })
  return options.bigIntegers === true && found.large ? parseLargeNumbers(text) : value
}

function refuseManyParts(bytes: Uint8Array, most: number): void {
  let parts = 0
  for (const byte of bytes) {
    if (byte !== COMMA && byte !== OPEN_ARRAY && byte !== OPEN_OBJECT) continue
    parts += 1
    if (parts > most) throw invalidBody({ reason: 'parts' }, { says: 'The body has too many parts' })
  }
}

/**
 * Parses a valid text with integers beyond 2^53 - 1 as bigint. Each large number is replaced by its index in a list,
 * plus 2^53: no other number in the new text is that large. A reviver would take ten times as long.
 */
function parseLargeNumbers(text: string): unknown {
  const numbers: (bigint | number)[] = []
  const pieces: string[] = []
  let copied = 0
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = endOfString(text, at) - 1
    if (code !== MINUS && !(code >= ZERO && code <= NINE)) continue
    NUMBER.lastIndex = at
    const literal = NUMBER.exec(text)?.[0] ?? ''
    if (isLarge(literal)) {
      pieces.push(text.slice(copied, at), String(FIRST_PLACE + 2 * numbers.length))
      numbers.push(largeNumber(literal))
      copied = at + literal.length
    }
    at += literal.length - 1
  }
  pieces.push(text.slice(copied))
  return withNumbers(JSON.parse(pieces.join('')), numbers)
}

// No id is longer. The cost of parsing and printing an integer grows with the square of its length.
const MOST_DIGITS = 255

function largeNumber(literal: string): bigint | number {
  return literal.length <= MOST_DIGITS && /^-?\d+$/.test(literal) ? BigInt(literal) : Number(literal)
}

// Above this, every second integer is a double.
const FIRST_PLACE = Number.MAX_SAFE_INTEGER + 1

function isLarge(literal: string): boolean {
  return !SMALL_INTEGER.test(literal) && Math.abs(Number(literal)) > Number.MAX_SAFE_INTEGER
}

/** Puts the large numbers back. Changes the value in place, because nobody else has it yet. */
function withNumbers(value: unknown, numbers: readonly (bigint | number)[]): unknown {
  if (typeof value === 'number') return value >= FIRST_PLACE ? numbers[(value - FIRST_PLACE) / 2] : value
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at += 1) value[at] = withNumbers(value[at], numbers)
    return value
  }
  const object = value as Record<string, unknown>
  for (const name of Object.keys(object)) object[name] = withNumbers(object[name], numbers)
  return value
}

const NUMBER = /-?\d[\d.eE+-]*/y

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const BACKSLASH = 0x5c
const [MINUS, ZERO, NINE] = [0x2d, 0x30, 0x39]
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]

/**
 * Scans a text that JSON.parse has accepted and counts its keys. Uses a loop: with recursion or one large pattern,
 * the sender would control our stack depth.
 */
function scan(text: string, options: Pick<Required<StrictJsonOptions>, 'exactNumbers' | 'maxDepth'>): number {
  let names = 0
  let depth = 0
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case QUOTE: {
        const end = endOfString(text, at)
        if (isMemberName(text, end)) names += 1
        at = end - 1
        break
      }
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        depth += 1
        if (depth > options.maxDepth) throw tooDeep()
        break
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        depth -= 1
        break
      default:
        if (options.exactNumbers) at = skipExactNumber(text, at)
    }
  }
  return names
}

/** Number of keys in a value, and whether it has numbers beyond the exact range of a double. */
interface Found {
  members: number
  large: boolean
}

/** Adds the contents of a value, whose depth `scan` has limited. */
function survey(value: unknown, found: Found): void {
  if (typeof value === 'number') found.large ||= Math.abs(value) > Number.MAX_SAFE_INTEGER
  if (typeof value !== 'object' || value === null) return
  const parts: readonly unknown[] = Array.isArray(value) ? value : Object.values(value)
  if (!Array.isArray(value)) found.members += parts.length
  for (const part of parts) survey(part, found)
}

/** The position after the closing quote of the string that starts at `start`. */
function endOfString(text: string, start: number): number {
  const quote = text.indexOf('"', start + 1)
  if (text.charCodeAt(quote - 1) !== BACKSLASH) return quote + 1
  // Searching for each quote would take ten times as long if every second character were escaped.
  for (let at = start + 1; ; at += 1) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) return at + 1
    if (code === BACKSLASH) at += 1
  }
}

/** Whether the string that ends here is a key. */
function isMemberName(text: string, end: number): boolean {
  let at = end
  while (isBlank(text.charCodeAt(at))) at += 1
  return text.charCodeAt(at) === COLON
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}

/** The position of the last character of the number at `start`, or `start` if there is none. */
function skipExactNumber(text: string, start: number): number {
  NUMBER.lastIndex = start
  const literal = NUMBER.exec(text)?.[0]
  if (literal === undefined) return start
  if (isExact(literal)) return start + literal.length - 1
  throw inexact()
}

function inexact(): Error {
  return invalidBody({ reason: 'number' }, { says: 'The body has a number that cannot be kept exactly' })
}

function tooDeep(): Error {
  return invalidBody({ reason: 'depth' }, { says: 'The body is nested too deeply' })
}

function isExact(literal: string): boolean {
  if (SMALL_INTEGER.test(literal)) return true
  const number = Number(literal)
  if (Number.isInteger(number) ? !Number.isSafeInteger(number) : !Number.isFinite(number)) return false
  return decimalOf(literal) === decimalOf(String(number))
}

const SMALL_INTEGER = /^-?\d{1,15}$/

/** One canonical form for all literals of the same absolute value. */
function decimalOf(literal: string): string {
  const [, whole = '', fraction = '', exponent = '0'] = PARTS.exec(literal) ?? []
  const digits = `${whole}${fraction}`.replace(/^0+/, '')
  let end = digits.length
  while (digits[end - 1] === '0') end -= 1
  if (end === 0) return '0'
  return `${digits.slice(0, end)}e${Number(exponent) - fraction.length + digits.length - end}`
}

const PARTS = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/
