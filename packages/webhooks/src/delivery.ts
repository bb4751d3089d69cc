import type { SignedTransmission } from './signed-transmission.ts'

/** One HTTP delivery as it was received, with nothing interpreted; or its stored form. */
export interface Delivery {
  readonly rawBody: Buffer
  /** Names and values alternately, as in Node.js: only here are repeated lines visible. */
  readonly rawHeaders: readonly string[]
  /** The query of the request target as it was sent, without the question mark; empty if there is none. */
  readonly query: string
  /** The address of the sender, for rate limits; absent if the delivery was read from the store. */
  readonly from?: string
  /** Runs a part of the check that follows a wait, so that its processor time can be charged to the sender. Absent: nobody counts. */
  readonly timed?: <Result>(work: () => Result) => Result
  /** It was read from the store, which holds a signature instead of a plaintext token. */
  readonly isStored?: true
  /** Somebody only looks at it: what it asks for, such as a subscription, is not done. */
  readonly isInspected?: true
}

declare const verified: unique symbol

/** An authentic delivery. Only the `verify` of a provider makes one, and events are read only from these. */
export interface VerifiedDelivery extends Delivery {
  readonly secretId: string
  /** The id of the event, if the scheme signs one in a header. */
  readonly signedId?: string
  /** Set only if the signature covers no more than a checksum of the body. */
  readonly transmission?: SignedTransmission
  /** The places of the items whose own signatures do not hold, if there are any. They are not read. */
  readonly refusedItems?: readonly number[]
  readonly [verified]: true
}

/** All values of a header, one per line. The case of names does not matter. */
export function headerLines(rawHeaders: readonly string[], name: string): string[] {
  const values: string[] = []
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const candidate = rawHeaders[at]
    if (candidate?.length === name.length && candidate.toLowerCase() === name) values.push(rawHeaders[at + 1] ?? '')
  }
  return values
}

/** The value of the only line with one of these names; null if there is no such line, or more than one. */
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

/** The value of a header with exactly one line; null if it is missing or repeated. */
export function singleHeader(rawHeaders: readonly string[], name: string): string | null {
  return onlyHeaderOf(rawHeaders, [name])
}
