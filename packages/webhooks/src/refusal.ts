/** Why a delivery is not authentic. It is for the log; the sender does not get it. */
export type Refusal =
  | 'header_missing'
  | 'header_malformed'
  | 'timestamp_outside_window'
  | 'signature_mismatch'
  /** The body is larger than the provider ever sends, so it was not parsed. */
  | 'body_too_large'
