/** What a signature covers if it covers a mere checksum of the body: both must come with one body only. */
export interface SignedTransmission {
  readonly id: string
  readonly checksum: number
  /** Milliseconds since 1970: later the signature does not count any more. */
  readonly countsUntil: number
}
