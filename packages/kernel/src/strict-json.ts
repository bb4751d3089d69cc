import { invalidBody } from './error-codes.ts'

/** How strict a reader of JSON is beyond RFC 8259. */
export interface StrictJsonOptions {
  /**
   * Refuse every number that a double does not give back as it was written, and integers beyond 2^53 - 1 (RFC 7493
   * section 2.2). Default: false.
   */
  readonly exactNumbers?: boolean
  /**
   * Read integers beyond 2^53 - 1 as bigint, digit by digit, in place of the nearest double, up to 255 digits. Default:
   * false.
   */
  readonly bigIntegers?: boolean
  /** Levels of nesting beyond which a text is refused. Default: 64. */
  readonly maxDepth?: number
  /**
   * Commas and opening brackets beyond which a text is refused before it is parsed, those inside of strings included.
   * Default: no limit.
   */
  readonly maxParts?: number
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Reads JSON as RFC 7493 (I-JSON) asks: valid UTF-8 without a byte-order mark, no member name twice in an object,
 * bounded depth.
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
    // The parser's message quotes the body, so it is not kept.
    throw invalidBody({ reason: 'syntax' })
  }
  const names = scan(text, { exactNumbers: options.exactNumbers ?? false, maxDepth: options.maxDepth ?? 64 })
  const found: Found = { members: 0, large: false }
  survey(value, found)
  // Of a name that stands there twice, the parser keeps one.
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
 * Parses a valid text, integers beyond 2^53 - 1 as bigint. Each number of that size is replaced by the number of its place
 * in a list, counted from 2^53 on: no other number of the new text is that large. A reviver takes ten times as long.
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

// No id is longer. What it takes to read an integer, and to write it, grows with the square of its length.
const MOST_DIGITS = 255

function largeNumber(literal: string): bigint | number {
  return literal.length <= MOST_DIGITS && /^-?\d+$/.test(literal) ? BigInt(literal) : Number(literal)
}

// Every second integer from there on is a double.
const FIRST_PLACE = Number.MAX_SAFE_INTEGER + 1

function isLarge(literal: string): boolean {
  return !SMALL_INTEGER.test(literal) && Math.abs(Number(literal)) > Number.MAX_SAFE_INTEGER
}

/** Puts the numbers back into their places, within the value itself: nobody else has it yet. */
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
 * Walks a text that JSON.parse has accepted and counts the member names in it. A loop and not a recursion or one large
 * pattern: with those the sender would choose the depth of our stack.
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

/** What a value holds: how many members, and whether a number beyond those that a double tells apart. */
interface Found {
  members: number
  large: boolean
}

/** Adds what a value and everything in it holds, which is no deeper than `scan` lets pass. */
function survey(value: unknown, found: Found): void {
  if (typeof value === 'number') found.large ||= Math.abs(value) > Number.MAX_SAFE_INTEGER
  if (typeof value !== 'object' || value === null) return
  const parts: readonly unknown[] = Array.isArray(value) ? value : Object.values(value)
  if (!Array.isArray(value)) found.members += parts.length
  for (const part of parts) survey(part, found)
}

/** The position behind the closing quote of the string that opens at `start`. */
function endOfString(text: string, start: number): number {
  const quote = text.indexOf('"', start + 1)
  if (text.charCodeAt(quote - 1) !== BACKSLASH) return quote + 1
  // A search for each quote would take ten times as long where every second character is an escaped one.
  for (let at = start + 1; ; at += 1) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) return at + 1
    if (code === BACKSLASH) at += 1
  }
}

/** Whether a string that ends there is the name of a member. */
function isMemberName(text: string, end: number): boolean {
  let at = end
  while (isBlank(text.charCodeAt(at))) at += 1
  return text.charCodeAt(at) === COLON
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}

/** The position of the last character of the number at `start`; `start` itself where there is none. */
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

/** One spelling for all literals of the same amount, whatever its sign. */
function decimalOf(literal: string): string {
  const [, whole = '', fraction = '', exponent = '0'] = PARTS.exec(literal) ?? []
  const digits = `${whole}${fraction}`.replace(/^0+/, '')
  let end = digits.length
  while (digits[end - 1] === '0') end -= 1
  if (end === 0) return '0'
  return `${digits.slice(0, end)}e${Number(exponent) - fraction.length + digits.length - end}`
}

const PARTS = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/
