import type { ReceiptOutbox } from '../receipts/claims/new-receipts.ts'

/** An outbox without room: all receipts are written as owed. */
export const OWING_OUTBOX: ReceiptOutbox = { reserve: () => null, nudge: () => undefined }
