import { invalidBody } from './error-codes.ts'

/** How strict a reader of JSON is beyond RFC 8259. */
export interface StrictJsonOptions {
  /**
   * Refuse every number that a double does not give back as it was written, and integers beyond 2^53 - 1 (RFC 7493
   * section 2.2). Default: false.
   */
  readonly exactNumbers?: boolean
  /** Read integers beyond 2^53 - 1 as bigint, digit by digit, in place of the nearest double. Default: false. */
  readonly bigIntegers?: boolean
  /** Levels of nesting beyond which a text is refused. Default: 64. */
  readonly maxDepth?: number
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Reads JSON as RFC 7493 (I-JSON) asks: valid UTF-8 without a byte-order mark, no member name twice in an object,
 * bounded depth.
 * @throws invalidBody
 */
export function parseStrictJson(bytes: Uint8Array, options: StrictJsonOptions = {}): unknown {
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
  // A reviver takes ten times as long, and is seldom needed.
  return options.bigIntegers === true && found.large ? JSON.parse(text, keepDigits) : value
}

function keepDigits(_name: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value
  return /^-?\d+$/.test(context?.source ?? '') ? BigInt(context?.source ?? '') : value
}

const NUMBER = /-?\d[\d.eE+-]*/y

const QUOTE = 0x22
const COLON = 0x3a
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
  for (let quote = text.indexOf('"', start + 1); ; quote = text.indexOf('"', quote + 1)) {
    let backslashes = 0
    while (text[quote - 1 - backslashes] === '\\') backslashes += 1
    if (backslashes % 2 === 0) return quote + 1
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
  throw invalidBody({ reason: 'number' }, { says: 'The body has a number that cannot be kept exactly' })
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
