/** Why a delivery is not authentic: for the log only, the sender is told nothing of it. */
export type Refusal =
  | 'header_missing'
  | 'header_malformed'
  | 'timestamp_outside_window'
  | 'signature_mismatch'
  /** It has more than the provider ever sends, so that nothing of it was parsed. */
  | 'body_too_large'
