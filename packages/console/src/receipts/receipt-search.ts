/** The states of a receipt, in the order in which it passes through them. */
export const RECEIPT_STATES = ['owed', 'sending', 'sent', 'parked'] as const

/** The filter of the list of receipts, as the address bar has it. */
export interface ReceiptSearch {
  readonly state?: (typeof RECEIPT_STATES)[number]
}

/** Reads the filter of an address. An invalid filter is ignored. */
export function readReceiptSearch(search: Readonly<Record<string, unknown>>): ReceiptSearch {
  const state = RECEIPT_STATES.find((one) => one === search.state)
  return state === undefined ? {} : { state }
}
