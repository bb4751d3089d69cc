import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'
import type { CheckResult } from '../schemes/scheme.ts'

/** A secret of a provider, with its key prepared once. */
export interface LiveSecret {
  readonly id: string
  readonly key: KeyObject
  /** The kind of secret, if a scheme has several. */
  readonly kind?: string
  /** The secret is no longer valid from this time (milliseconds); null: it does not expire. */
  readonly notAfter: number | null
  /** It names somebody or verifies only, so anybody may know it. */
  readonly isPublic?: true
}

export function isLive({ notAfter }: LiveSecret, now: number): boolean {
  return notAfter === null || now < notAfter
}

/** The secret that is valid longest: the new one during a rotation. */
export function lastingSecret(secrets: readonly LiveSecret[], now: number): LiveSecret | undefined {
  const endOf = ({ notAfter }: LiveSecret): number => notAfter ?? Number.POSITIVE_INFINITY
  return secrets.filter((secret) => isLive(secret, now)).toSorted((one, other) => endOf(other) - endOf(one))[0]
}

/** How many signatures of one header are checked. */
export const MAX_CANDIDATES = 8

/** Texts and bytes that are signed together, without separators. */
export type SignedParts = readonly (string | Uint8Array)[]

/**
 * The HMAC (RFC 2104) of the parts, one character per byte (latin-1): a separate buffer would take a sixth of the time of the
 * whole MAC.
 */
export function hmac(algorithm: string, key: KeyObject, parts: SignedParts): string {
  const mac = createHmac(algorithm, key)
  for (const part of parts) mac.update(part)
  return mac.digest('binary')
}

// Shared by all MACs: each comparison ends before the next one writes.
let macBytes = Buffer.alloc(32)

function toMacBytes(mac: string): Buffer {
  if (macBytes.length !== mac.length) macBytes = Buffer.alloc(mac.length)
  macBytes.write(mac, 'latin1')
  return macBytes
}

/**
 * The id of the valid secret whose MAC is among the candidates, or null. Every secret is compared with every candidate, so
 * that the time taken does not reveal a near match. Candidates of another length never match.
 */
export function findSigner(
  secrets: readonly LiveSecret[],
  candidates: readonly Uint8Array[],
  {
    now,
    macOf,
    most = MAX_CANDIDATES,
  }: { readonly now: number; readonly macOf: (key: KeyObject) => string; readonly most?: number },
): string | null {
  const looked = candidates.length > most ? candidates.slice(0, most) : candidates
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

/** A time and signatures from one header, what they should cover, and what decides whether they are valid. */
interface TimedSignatures {
  readonly timestamp: string
  /** Lower-case hexadecimal digits. Others are ignored. */
  readonly signatures: readonly string[]
  readonly signed: SignedParts
  readonly secrets: readonly LiveSecret[]
  readonly toleranceSeconds: number
  /** Milliseconds. */
  readonly now: number
}

/** Checks the time, then whether a valid secret made one of the signatures, by HMAC-SHA256. */
export function checkTimedHmac(check: TimedSignatures): CheckResult {
  const { timestamp, signatures, signed, secrets, toleranceSeconds, now } = check
  if (!isWithinTolerance(timestamp, toleranceSeconds, now)) return { refused: 'timestamp_outside_window' }
  const candidates = signatures.map(decodeHex).filter((bytes) => bytes !== null)
  return resultOf(findSigner(secrets, candidates, { now, macOf: (key) => hmac('sha256', key, signed) }))
}

/** The result of a check: the secret that made the signature, or a failure. */
export function resultOf(secretId: string | null): CheckResult {
  return secretId === null ? { refused: 'signature_mismatch' } : { secretId }
}

const HEX = /^[0-9a-f]+$/

/** The bytes of lower-case hexadecimal digits, or null for anything else. */
export function decodeHex(text: string): Buffer | null {
  return text.length % 2 === 0 && HEX.test(text) ? Buffer.from(text, 'hex') : null
}

const SECONDS = /^\d{10}$/

/** Whether a timestamp of ten digits lies within the tolerance of `now` (milliseconds), in the past and in the future. */
export function isWithinTolerance(timestamp: string, toleranceSeconds: number, now: number): boolean {
  return SECONDS.test(timestamp) && Math.abs(now / 1000 - Number(timestamp)) <= toleranceSeconds
}
