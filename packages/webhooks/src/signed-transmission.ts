/** A signature that covers only a checksum of the body: the id must be accepted with one body only. */
export interface SignedTransmission {
  readonly id: string
  readonly checksum: number
  /** Milliseconds since 1970. The signature is not accepted later. */
  readonly countsUntil: number
}
