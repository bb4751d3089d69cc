import type { SignedTransmission } from './signed-transmission.ts'

/** One HTTP delivery as it came in: bytes and header lines, nothing interpreted; or what is kept of it. */
export interface Delivery {
  readonly rawBody: Buffer
  /** Names and values in turn, as Node gives them: repeated lines are visible here only. */
  readonly rawHeaders: readonly string[]
  /** The query of the request's target as it was sent, without the question mark; empty where there is none. */
  readonly query: string
  /** The address that it counts for; absent for one that is not on its way in. */
  readonly from?: string
  /** It comes from the store, where a token in clear stands as the signature that it makes. */
  readonly isStored?: true
}

declare const verified: unique symbol

/** A delivery that is proved authentic; only a provider's `verify` makes one, and only these are read. */
export interface VerifiedDelivery extends Delivery {
  readonly secretId: string
  /** The event's id where the scheme signs one in a header. */
  readonly signedId?: string
  /** Only where the signature covers no more than a checksum of the body. */
  readonly transmission?: SignedTransmission
  readonly [verified]: true
}

/** All values of a header, one for each line; names are compared without case. */
export function headerLines(rawHeaders: readonly string[], name: string): string[] {
  const values: string[] = []
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const candidate = rawHeaders[at]
    if (candidate?.length === name.length && candidate.toLowerCase() === name) values.push(rawHeaders[at + 1] ?? '')
  }
  return values
}

/** The value of the only line that headers of any of these names have together; null when there is none, or more. */
export function onlyHeaderOf(rawHeaders: readonly string[], names: readonly string[]): string | null {
  let value: string | null = null
  for (const name of names) {
    for (let at = 0; at < rawHeaders.length; at += 2) {
      const candidate = rawHeaders[at]
      if (candidate?.length !== name.length || candidate.toLowerCase() !== name) continue
      if (value !== null) return null
      value = rawHeaders[at + 1] ?? ''
    }
  }
  return value
}

/** The value of a header that occurs on exactly one line; null when it is missing or repeated. */
export function singleHeader(rawHeaders: readonly string[], name: string): string | null {
  let value: string | null = null
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const candidate = rawHeaders[at]
    if (candidate?.length !== name.length || candidate.toLowerCase() !== name) continue
    if (value !== null) return null
    value = rawHeaders[at + 1] ?? ''
  }
  return value
}
