import type { Db } from 'mongodb'
import type { Send } from '../dispatch/sent.ts'
import type { Claims } from '../inbox/claims/claims.ts'
import type { Inbox } from '../inbox/inbox.ts'

/**
 * Records the steps of the protocol, so that a test can compare them with the model in `docs/model`. Each function
 * returns the same part, which also records its steps. In production there is no recording, and no part is replaced.
 */
export interface Recording {
  /** The inserts of records, as the commands and the replies have them. */
  inserts(db: Db): Db
  /** The answers to deliveries. */
  answers(inbox: Inbox): Inbox
  /** Claims, takeovers, settlements and releases. */
  claims(claims: Claims): Claims
  /** The calls to fulfilment and their results. */
  calls(send: Send): Send
}
