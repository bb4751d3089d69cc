import type { Document, ObjectId } from 'mongodb'
import type { DueSearch } from '../due.ts'
import type { LineOptions } from '../order/lines.ts'
import type { TaskKey } from '../task.ts'
import type { AttemptResult, EndFields, Settlement } from '../transitions.ts'
import type { Steadiness } from './steadiness.ts'

export interface Claim extends TaskKey {
  readonly _id: ObjectId
  readonly line?: string | undefined
  /** The name of the claim, which every later write requires: so a claim that was lost changes nothing. */
  readonly claim: string
  /** When it ends, by the clock of the database, in milliseconds. */
  readonly endsAt: number
  readonly starts: number
  /** Consecutive losses, see `lossesThen`. A suspect has at least one, or its last call broke. */
  readonly lost: number
  readonly failures: number
  /** The waits that were set after failed attempts, in milliseconds, and those for the code of the last ones. */
  readonly waited: number
  readonly waitedFor: { readonly code: string; readonly ms: number } | null
  /**
   * The record from which the claim was read, without what only its owner can hold (`ClaimOptions.unread`). Other software may have
   * written it, so no property is taken for granted.
   */
  readonly record: Document
}

export interface SettledClaim {
  readonly claim: Claim
  readonly settlement: Settlement
  readonly attempt: AttemptResult
}

export interface ClaimOptions extends LineOptions, DueSearch {
  /** How many consecutive losses make a task dead, and the reason if the last of them was a broken call. */
  readonly maxCrashes: number
  readonly callBroke: string
  readonly end: EndFields
  /** The fields of records that claims leave out, because they are large. */
  readonly unread: readonly string[]
  /** Whether the database answers this process, so that it may say that others have died. */
  readonly steadiness: Steadiness
  /** The next tasks of lines could not be made due. A later sweep makes up for it. Default: nobody learns of it. */
  readonly onLineFailed?: ((error: unknown) => void) | undefined
}

export function toClaim(record: Document): Claim {
  const { _id, dueAt, failing, line } = record
  return {
    ...{ _id, provider: textOf(record.provider), eventId: textOf(record.eventId), handler: textOf(record.handler) },
    line: typeof line === 'string' ? line : undefined,
    claim: textOf(record.claim),
    endsAt: dueAt instanceof Date ? dueAt.getTime() : 0,
    ...{ starts: numberOf(record.starts), lost: numberOf(record.lost), failures: numberOf(failing?.times) },
    waited: numberOf(failing?.waitedMs),
    waitedFor: failing?.code === undefined ? null : { code: textOf(failing.code), ms: numberOf(failing.codeMs) },
    record,
  }
}

function numberOf(stored: unknown): number {
  return typeof stored === 'number' && Number.isFinite(stored) ? stored : 0
}

export function textOf(stored: unknown): string {
  return typeof stored === 'string' ? stored : ''
}
