import type { UnhandledReason, WebhookEvent } from '@oncehook/webhooks/providers'
import type { ObjectId } from 'mongodb'
import type { EventDocument } from '../event-document.ts'

/** Why a stored event has no effect. `test`: an operator made it, to test the way of a delivery. */
export type NoEffectReason = UnhandledReason | 'test'

/** The right to settle a record, until another process claims it. */
export interface Claim {
  readonly _id: ObjectId
  readonly provider: string
  /** The handler whose task it is. */
  readonly handler: string
  /** The line in which the task is. Absent: it waits for no other. */
  readonly line?: string | undefined
  /** The name of the claim, which every later write requires: so a claim that was lost changes nothing. */
  readonly claim: string
  /** When it ends, by the clock of the database, in milliseconds. */
  readonly endsAt: number
  /** How often the record was claimed, this time included. */
  readonly starts: number
  /** Consecutive losses, see `lossesThen`. A suspect has at least one, or its last call broke. */
  readonly lost: number
  /** Consecutive attempts that failed. */
  readonly failures: number
  /** The waits that were set after failed attempts, in milliseconds, and those for the code of the last ones. */
  readonly waited: number
  readonly waitedFor: { readonly code: string; readonly ms: number } | null
  readonly requestId: string
  readonly event: WebhookEvent
  /** Whether it is a test event. */
  readonly test?: true | undefined
}

/** The result of an attempt, as stored in the record. */
export interface AttemptResult {
  readonly ms: number
  readonly outcome: string
  readonly code: string | null
  readonly message: string | null
}

/** The result of an attempt for the event: settled permanently, due again after `delayMs`, or dead with a reason. */
export type Settlement =
  | { readonly state: 'done'; readonly outcome: { readonly kind: string; readonly version: number | null } }
  | {
      readonly state: 'pending'
      readonly delayMs: number
      readonly waited: number
      readonly waitedFor: NonNullable<Claim['waitedFor']>
      /**
       * Present if its call got no answer, and nothing is known about it: whether the call broke, so that it may be the cause and
       * becomes a suspect. If not, it never reached the handler, or the call before it had failed, too. A suspect stays one.
       */
      readonly broke?: Date | false
    }
  | { readonly state: 'dead'; readonly reason: string }
  | { readonly state: 'unhandled'; readonly reason: NoEffectReason }

/** A claim with the result of its attempt. */
export interface SettledClaim {
  readonly claim: Claim
  readonly settlement: Settlement
  readonly attempt: AttemptResult
}

/** The dispatcher, as the inbox knows it. */
export interface ClaimTaker {
  /**
   * Whether this process claims a new record on insert. If not, the record is inserted as pending. Called before the
   * insert. After a yes, `take` or `miss` is called.
   */
  admits(): boolean
  /** How long a claim lasts, in milliseconds. */
  readonly lastsMs: number
  /** Takes a claim that was made on insert, after its record is durable. */
  take(claim: Claim): void
  /** Says that a record which this process was to claim was not inserted, or perhaps not. */
  miss(): void
  /** Says that a record was stored as pending that may be claimed at once. */
  expect(): void
}

/** The code with which fulfilment refuses an event whose order does not exist, or not yet. */
export const ORDER_UNKNOWN = 'order_unknown'

/** The claim of a record. Other software may have written the record, so no property is taken for granted. */
export function toClaim(record: EventDocument): Claim {
  const { _id, facts, claim, dueAt, waitedFor, line, test } = record
  const event: WebhookEvent = {
    id: textOf(record.eventId),
    type: textOf(record.type),
    objectId: textOf(record.objectId),
    facts: { ...facts, orderId: textOf(record.orderId) },
  }
  return {
    ...{ _id, provider: textOf(record.provider), handler: textOf(record.handler), claim: textOf(claim) },
    line: typeof line === 'string' ? line : undefined,
    endsAt: dueAt instanceof Date ? dueAt.getTime() : 0,
    ...{ starts: numberOf(record.starts), lost: numberOf(record.lost), failures: numberOf(record.failures) },
    waited: numberOf(record.waited),
    waitedFor: waitedFor === undefined ? null : { code: textOf(waitedFor.code), ms: numberOf(waitedFor.ms) },
    ...{ requestId: textOf(record.requestId), event, test: test === true || undefined },
  }
}

function numberOf(stored: unknown): number {
  return typeof stored === 'number' && Number.isFinite(stored) ? stored : 0
}

function textOf(stored: unknown): string {
  return typeof stored === 'string' ? stored : ''
}
