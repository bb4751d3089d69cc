import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'

/** A secret of a provider, its key made ready once. */
export interface LiveSecret {
  readonly id: string
  readonly key: KeyObject
  /** What sort of secret it is, where a scheme knows several. */
  readonly kind?: string
  /** From then on (milliseconds) it counts no more; null: no end. */
  readonly notAfter: number | null
}

/** Whether a secret counts at `now` (milliseconds). */
export function isLive({ notAfter }: LiveSecret, now: number): boolean {
  return notAfter === null || now < notAfter
}

/** How many signatures of one header are looked at. */
export const MAX_CANDIDATES = 8

/** Text and bytes that are signed one after the other. */
export type SignedParts = readonly (string | Uint8Array)[]

/**
 * The HMAC (RFC 2104) of the parts, each of its bytes one character (latin-1): a buffer of its own costs a sixth of the
 * whole MAC.
 */
export function hmac(algorithm: string, key: KeyObject, parts: SignedParts): string {
  const mac = createHmac(algorithm, key)
  for (const part of parts) mac.update(part)
  return mac.digest('binary')
}

// Comparing is over before anybody else could write here, so that no MAC needs a buffer of its own.
let macBytes = Buffer.alloc(32)

function toMacBytes(mac: string): Buffer {
  if (macBytes.length !== mac.length) macBytes = Buffer.alloc(mac.length)
  macBytes.write(mac, 'latin1')
  return macBytes
}

/**
 * The id of the live secret whose MAC is among the candidates, or null. Every secret and every candidate is tried, so
 * that the time taken does not tell which one came near; candidates of another length never match.
 */
export function findSigner(
  secrets: readonly LiveSecret[],
  candidates: readonly Uint8Array[],
  { now, macOf }: { readonly now: number; readonly macOf: (key: KeyObject) => string },
): string | null {
  const looked = candidates.length > MAX_CANDIDATES ? candidates.slice(0, MAX_CANDIDATES) : candidates
  let signer: string | null = null
  for (const secret of secrets) {
    if (!isLive(secret, now)) continue
    const expected = toMacBytes(macOf(secret.key))
    for (const candidate of looked) {
      const equal = candidate.length === expected.length && timingSafeEqual(candidate, expected)
      if (equal) signer ??= secret.id
    }
  }
  return signer
}

const HEX = /^[0-9a-f]+$/

/** The bytes of lower-case hexadecimal digits, or null for anything else. */
export function decodeHex(text: string): Buffer | null {
  return text.length % 2 === 0 && HEX.test(text) ? Buffer.from(text, 'hex') : null
}

/** The bytes of padded, canonical base64 (RFC 4648 section 4), or null for anything else. */
export function decodeBase64(text: string): Buffer | null {
  if (text === '') return null
  const bytes = Buffer.from(text, 'base64')
  // The decoder is lenient; only one text is what the encoder makes of these bytes.
  return bytes.toString('base64') === text ? bytes : null
}

/** How a signature is written down in a header. */
export interface SignatureForm {
  readonly encoding: 'hex' | 'base64'
  /** What stands in front of it. */
  readonly prefix?: string
  /** Whether the prefix may be left out. */
  readonly prefixOptional?: boolean
}

/** Makes the reader of signatures of one form: their bytes, or null for what is not of that form. */
export function createDecoder({ encoding, prefix = '', prefixOptional = false }: SignatureForm) {
  const decode = encoding === 'hex' ? decodeHex : decodeBase64
  return (value: string): Buffer | null => {
    if (value.startsWith(prefix)) return decode(value.slice(prefix.length))
    return prefixOptional ? decode(value) : null
  }
}

/**
 * Whether a body begins with a digit right behind a text that ends in one, such as a timestamp: what was signed could
 * then be split in two ways, one with a longer timestamp and a shorter body.
 */
export function couldContinueTime(before: string, rawBody: Uint8Array): boolean {
  return isDigit(before.charCodeAt(before.length - 1)) && isDigit(rawBody[0])
}

function isDigit(code = 0): boolean {
  return code >= 0x30 && code <= 0x39
}

const SECONDS = /^\d{10}$/

/** Whether a timestamp of ten digits lies within the tolerance of `now` (milliseconds), in the past and in the future. */
export function isWithinTolerance(timestamp: string, toleranceSeconds: number, now: number): boolean {
  return SECONDS.test(timestamp) && Math.abs(now / 1000 - Number(timestamp)) <= toleranceSeconds
}
