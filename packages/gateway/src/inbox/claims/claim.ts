import type { UnhandledReason, WebhookEvent } from '@oncehook/webhooks/providers'
import type { ObjectId } from 'mongodb'
import type { EventDocument } from '../event-document.ts'

/** Why a stored event has no effect. `test`: an operator made it, to test the way of a delivery. */
export type NoEffectReason = UnhandledReason | 'test'

/** The right to settle a record. It is valid until another claim raises the fence. */
export interface Claim {
  readonly _id: ObjectId
  readonly provider: string
  readonly handler: string
  /** The line in which the task is. Absent: it waits for no other. */
  readonly line?: string | undefined
  /** Every later write requires this number, so a lost claim changes nothing. */
  readonly fence: number
  /**
   * Consecutive earlier claims that ended without a result. After the first, only claims whose attempt had begun count.
   */
  readonly lost: number
  /** Consecutive calls to fulfilment that failed as a whole with this event in them, except during outages. */
  readonly failedCalls: number
  /** Consecutive `internal` refusals of this event by fulfilment. */
  readonly internalErrors: number
  /** Failed attempts since the first failure, and how long the event has been failing. */
  readonly failures: number
  readonly failedForMs: number
  /** How long fulfilment has answered that it does not know the order. */
  readonly orderUnknownForMs: number
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
      readonly failedCalls?: number
      readonly internalErrors?: number
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
   * insert.
   */
  admits(): boolean
  /** Takes a claim that was made on insert, after its record is durable. */
  take(claim: Claim): void
  /** Says that it is unknown whether a record was stored, which may be claimed for this process. */
  doubt(): void
  /** Says that a record was stored as pending that may be claimed at once. */
  expect(): void
}

/** The code with which fulfilment refuses an event whose order does not exist, or not yet. */
export const ORDER_UNKNOWN = 'order_unknown'

/** The times that a search computes for each record, by the database's clock. */
export type FailingTimes = Pick<Claim, 'failedForMs' | 'orderUnknownForMs'>

/** The claim of a record that was claimed on insert. */
export function initialClaimOf(document: EventDocument): Claim {
  const { _id, provider, eventId, handler, type, objectId, orderId, facts, fence, requestId, test } = document
  return {
    _id,
    provider,
    handler,
    fence,
    lost: 0,
    failedCalls: 0,
    internalErrors: 0,
    failures: 0,
    failedForMs: 0,
    orderUnknownForMs: 0,
    requestId,
    event: { id: eventId, type, objectId, facts: { ...facts, orderId } },
    test,
  }
}

/** The claim of a stored record. Other software may have written the record, so no property is taken for granted. */
export function toClaim(record: EventDocument & FailingTimes): Claim {
  const { _id, facts, fence, lost, failedForMs, orderUnknownForMs } = record
  const event: WebhookEvent = {
    id: textOf(record.eventId),
    type: textOf(record.type),
    objectId: textOf(record.objectId),
    facts: { ...facts, orderId: textOf(record.orderId) },
  }
  const [failures, failedCalls] = [numberOf(record.failures), numberOf(record.failedCalls)]
  const internalErrors = numberOf(record.internalErrors)
  const [provider, handler, requestId] = [textOf(record.provider), textOf(record.handler), textOf(record.requestId)]
  const counts = { fence, lost, failedCalls, internalErrors, failures, failedForMs, orderUnknownForMs }
  const line = typeof record.line === 'string' ? record.line : undefined
  return { _id, provider, handler, line, ...counts, requestId, event, test: record.test === true || undefined }
}

function numberOf(stored: unknown): number {
  return typeof stored === 'number' && Number.isFinite(stored) ? stored : 0
}

function textOf(stored: unknown): string {
  return typeof stored === 'string' ? stored : ''
}
