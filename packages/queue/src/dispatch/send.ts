import type { AppError } from '@oncehook/kernel/http/errors'
import type { Claim, SettledClaim } from '../claim/claim.ts'

export type Send = (claims: readonly Claim[]) => Promise<Sent>

export interface Sent {
  readonly settled: readonly SettledClaim[]
  /** Whether the handler gave a verdict: then it works. */
  readonly hasVerdict: boolean
  /** A call that failed as a whole. Nothing is known about its tasks, so each is put off. */
  readonly failure: { readonly error: AppError; readonly putOff: readonly SettledClaim[] } | null
  /** The tasks that were not sent, because their claims might have ended before the answer. */
  readonly late: readonly Claim[]
  /** The tasks that the database did not yield. They have made no attempt. */
  readonly unread: { readonly error: unknown; readonly claims: readonly Claim[] } | null
}
