import type { Db } from 'mongodb'
import type { PausedProviders } from '../pauses/provider-pauses.ts'
import type { Retention } from '../retention/retention.ts'

/** Dependencies of the claims. Times are in milliseconds. */
export interface ClaimsDeps extends Retention {
  readonly db: Db
  readonly owner: string
  readonly leaseMs: number
  readonly maxCrashes: number
  /** The longest delay that is ever set for a record. A later due time comes from a wrong clock. */
  readonly maxDelayMs: number
  /** The handler whose tasks are claimed. */
  readonly handler: string
  /** The configured handlers, for the claims of fulfilment. Default: none. */
  readonly configured?: (() => Iterable<string>) | undefined
  /** Set if the handler has `orderBy`: whether a dead task blocks those behind it. */
  readonly ordering?: { readonly blockOnDead: boolean } | undefined
  /** The next tasks of lines could not be made due. A later sweep makes up for it. Default: nobody learns of it. */
  readonly onLineFailed?: ((error: unknown) => void) | undefined
  /** The providers whose due records are not claimed. */
  readonly paused: () => PausedProviders
  /** For how long this process can have sent the records: since its start, or the end of a pause. Default: since its start. */
  readonly activeForMs?: () => number
  /** Milliseconds that never go backwards. Default: those of the process. */
  readonly monotonicMs?: () => number
}
