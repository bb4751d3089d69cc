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
 * depth. Own code, because `lossless-json` takes half as long again, limits no depth, and accepts a duplicate key with an
 * equal value.
 * @throws invalidBody
 */
export function parseStrictJson(bytes: Uint8Array, options: StrictJsonOptions = {}): unknown {
  if (options.maxParts !== undefined) refuseManyParts(bytes, options.maxParts)
  let text: string
  try {
    text = decoder.decode(bytes)
  } catch {
    throw invalidBody({ reason: 'utf-8' }, { message: 'The body is not valid UTF-8' })
  }
  const { exactNumbers = false, bigIntegers = false, maxDepth = 64 } = options
  const { names, large, refusal } = scan(text, { exactNumbers, bigIntegers, maxDepth })
  let whole: unknown[]
  try {
    whole = [JSON.parse(withPlaces(text, large))]
  } catch {
    // The parser's message quotes the body, so it is discarded.
    throw invalidBody({ reason: 'syntax' })
  }
  if (refusal !== null) throw refusal
  const members = survey(whole, large.map(readLarge))
  // The parser keeps only one of two duplicate keys.
  if (names !== members) throw invalidBody({ reason: 'duplicate' }, { message: 'The body has a duplicate key' })
  return whole[0]
}

function refuseManyParts(bytes: Uint8Array, most: number): void {
  let parts = 0
  // An iterator over the bytes would take ten times as long.
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at]
    if (byte !== COMMA && byte !== OPEN_ARRAY && byte !== OPEN_OBJECT) continue
    parts += 1
    if (parts > most) throw invalidBody({ reason: 'parts' }, { message: 'The body has too many values' })
  }
}

interface LargeNumber {
  readonly at: number
  readonly literal: string
}

/**
 * Replaces each large number by its index in the list, plus 2^53: no other number in the new text is that large. The new
 * text is valid JSON if and only if the old one is. A reviver would take ten times as long.
 */
function withPlaces(text: string, large: readonly LargeNumber[]): string {
  if (large.length === 0) return text
  const pieces: string[] = []
  let copied = 0
  for (const [place, { at, literal }] of large.entries()) {
    pieces.push(text.slice(copied, at), String(FIRST_PLACE + 2 * place))
    copied = at + literal.length
  }
  pieces.push(text.slice(copied))
  return pieces.join('')
}

// Above this, every second integer is a double.
const FIRST_PLACE = Number.MAX_SAFE_INTEGER + 1

// No id is longer. The cost of parsing and printing an integer grows with the square of its length.
const MOST_DIGITS = 255

function readLarge({ literal }: LargeNumber): bigint | number {
  return literal.length <= MOST_DIGITS && /^-?\d+$/.test(literal) ? BigInt(literal) : Number(literal)
}

type Parts = unknown[] | Record<string, unknown>

/**
 * Counts the keys in parts whose depth `scan` has limited, and puts the large numbers back. Changes the parts in place,
 * because nobody else has them yet.
 */
function survey(parts: Parts, large: readonly (bigint | number)[]): number {
  if (Array.isArray(parts)) return surveyList(parts, large)
  let members = 0
  // What JSON.parse makes inherits nothing that a loop would see.
  for (const name in parts) {
    const part = parts[name]
    members += 1
    if (isParts(part)) members += survey(part, large)
    else if (isPlace(part, large)) parts[name] = large[(part - FIRST_PLACE) / 2]
  }
  return members
}

function surveyList(parts: unknown[], large: readonly (bigint | number)[]): number {
  let members = 0
  for (let at = 0; at < parts.length; at += 1) {
    const part = parts[at]
    if (isParts(part)) members += survey(part, large)
    else if (isPlace(part, large)) parts[at] = large[(part - FIRST_PLACE) / 2]
  }
  return members
}

function isParts(part: unknown): part is Parts {
  return typeof part === 'object' && part !== null
}

function isPlace(part: unknown, { length }: readonly unknown[]): part is number {
  return typeof part === 'number' && part >= FIRST_PLACE && length > 0
}

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const BACKSLASH = 0x5c
const [PLUS, MINUS, POINT] = [0x2b, 0x2d, 0x2e]
const [ZERO, NINE] = [0x30, 0x39]
const [CAPITAL_E, SMALL_E] = [0x45, 0x65]
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]

interface Scanned {
  readonly names: number
  /** The large numbers, if they are to be bigint. */
  readonly large: readonly LargeNumber[]
  /** Why the text is refused even if it is JSON. The scan ended there. */
  readonly refusal: Error | null
}

/**
 * Scans a text before it is parsed. If it is not JSON, the result means nothing. Uses a loop: with recursion or one large
 * pattern, the sender would control our stack depth.
 */
function scan(text: string, { maxDepth, ...options }: Required<Omit<StrictJsonOptions, 'maxParts'>>): Scanned {
  const numbers: Numbers = { ...options, large: [], refusal: null }
  let names = 0
  let depth = 0
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    switch (code) {
      case QUOTE: {
        const end = endOfString(text, at)
        if (isMemberName(text, end)) names += 1
        at = end - 1
        break
      }
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        depth += 1
        if (depth > maxDepth) return { ...numbers, names, refusal: tooDeep() }
        break
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        depth -= 1
        break
      default:
        if (beginsNumber(code)) at = scanNumber(text, at, numbers) - 1
    }
  }
  return { ...numbers, names }
}

interface Numbers extends Required<Pick<StrictJsonOptions, 'exactNumbers' | 'bigIntegers'>> {
  readonly large: LargeNumber[]
  refusal: Error | null
}

/** The position after the number that starts at `start`, or after the text if the number is refused. */
function scanNumber(text: string, start: number, numbers: Numbers): number {
  const end = endOfNumber(text, start)
  if (isSmallInteger(text, start, end)) return end
  const literal = text.slice(start, end)
  if (numbers.exactNumbers && !isExact(literal)) {
    numbers.refusal = inexact()
    return text.length
  }
  if (numbers.bigIntegers && isLarge(literal)) numbers.large.push({ at: start, literal })
  return end
}

/** The position after the closing quote of the string that starts at `start`, or after the text if there is none. */
function endOfString(text: string, start: number): number {
  const quote = text.indexOf('"', start + 1)
  if (quote === -1) return text.length
  if (text.charCodeAt(quote - 1) !== BACKSLASH) return quote + 1
  // Searching for each quote would take ten times as long if every second character were escaped.
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) return at + 1
    if (code === BACKSLASH) at += 1
  }
  return text.length
}

function isMemberName(text: string, end: number): boolean {
  let at = end
  while (isBlank(text.charCodeAt(at))) at += 1
  return text.charCodeAt(at) === COLON
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}

/** The position after the characters of the number that starts at `start`. */
function endOfNumber(text: string, start: number): number {
  let end = start + 1
  while (isOfNumber(text.charCodeAt(end))) end += 1
  return end
}

function beginsNumber(code: number): boolean {
  return code === MINUS || isDigit(code)
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE
}

// A double holds every integer with this many digits.
const MOST_SMALL_DIGITS = 15

function isSmallInteger(text: string, start: number, end: number): boolean {
  if (end - start > MOST_SMALL_DIGITS) return false
  for (let at = start + 1; at < end; at += 1) if (!isDigit(text.charCodeAt(at))) return false
  return true
}

function isOfNumber(code: number): boolean {
  return isDigit(code) || code === POINT || code === SMALL_E || code === CAPITAL_E || code === MINUS || code === PLUS
}

/** Whether a literal is a valid number beyond the exact range of a double. */
function isLarge(literal: string): boolean {
  return Math.abs(Number(literal)) > Number.MAX_SAFE_INTEGER && JSON_NUMBER.test(literal)
}

const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

function inexact(): Error {
  return invalidBody({ reason: 'number' }, { message: 'The body has a number that cannot be represented exactly' })
}

function tooDeep(): Error {
  return invalidBody({ reason: 'depth' }, { message: 'The body is nested too deeply' })
}

function isExact(literal: string): boolean {
  const number = Number(literal)
  if (Number.isInteger(number) ? !Number.isSafeInteger(number) : !Number.isFinite(number)) return false
  return decimalOf(literal) === decimalOf(String(number))
}

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
