import type { Db } from 'mongodb'
import type { PausedProviders } from '../pauses/provider-pauses.ts'
import type { Retention } from '../retention/retention.ts'
import type { Steadiness } from './steadiness.ts'

/** Dependencies of the claims of one handler. Times are in milliseconds. */
export interface ClaimsDeps extends Retention {
  readonly db: Db
  /** How long a claim lasts: until its task is sent, and as long as its call may take. */
  readonly lastsMs: number
  /** How many consecutive losses make a task dead. */
  readonly maxCrashes: number
  /** The longest delay that is ever set for a record. A later due time comes from a wrong clock. */
  readonly maxDelayMs: number
  /** The handler whose tasks are claimed. */
  readonly handler: string
  /** Set if the handler has `orderBy`: whether a dead task blocks those behind it. */
  readonly ordering?: { readonly blockOnDead: boolean } | undefined
  /** The next tasks of lines could not be made due. A later sweep makes up for it. Default: nobody learns of it. */
  readonly onLineFailed?: ((error: unknown) => void) | undefined
  /** The providers whose due records are not claimed. */
  readonly paused: () => PausedProviders
  /** Whether the database answers this process, so that it may say that others have died. */
  readonly steadiness: Steadiness
  /** Milliseconds that never go backwards. Default: those of the process. */
  readonly monotonicMs?: () => number
}
