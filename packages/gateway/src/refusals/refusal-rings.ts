/** The number of records per provider for each kind of refusal: 1,000 in total. */
const SLOTS_OF_REASONS = {
  signature_mismatch: 200,
  header_missing: 100,
  header_malformed: 100,
  timestamp_outside_window: 100,
} as const
const SLOTS_OF_CODES = {
  rate_limited: 100,
  payload_too_large: 60,
  unsupported_media_type: 60,
  invalid_body: 60,
  event_invalid: 60,
  request_timeout: 40,
  bad_request: 40,
} as const
const OTHERS = 'others'
const SLOTS_OF_OTHERS = 40
const SLOTS: Readonly<Record<string, number>> = { ...SLOTS_OF_REASONS, ...SLOTS_OF_CODES, [OTHERS]: SLOTS_OF_OTHERS }

/** The code of a delivery that is not authentic. */
const NOT_AUTHENTIC = 'signature_invalid'

/** The ring of a refusal: why it was not authentic, or the code of the answer. Rare kinds share one. */
export function ringOf(code: string, why: string | null): string {
  const name = code === NOT_AUTHENTIC && why !== null ? why : code
  return Object.hasOwn(SLOTS, name) ? name : OTHERS
}

/** How many records a ring has. */
export function slotsOf(ring: string): number {
  return SLOTS[ring] ?? SLOTS_OF_OTHERS
}

/** The common property of the refusals of a ring. `others` for kinds that share a ring. */
export function kindOf(ring: string): { readonly reason: string; readonly why: string | null } {
  return Object.hasOwn(SLOTS_OF_REASONS, ring) ? { reason: NOT_AUTHENTIC, why: ring } : { reason: ring, why: null }
}
