import type { SettledClaim } from '../inbox/claims.ts'

/** A call of fulfilment that failed as a whole, and what was known around it. */
export interface FailedCall {
  /** How many events it carried. */
  readonly events: number
  /** Fulfilment answered the question for versions just before. */
  readonly reached: boolean
  /** The connection broke after that, without an answer: this is what a process that dies leaves. */
  readonly died: boolean
  /** Calls went through freely when it was sent. */
  readonly wasClosed: boolean
  /** Another call had succeeded a moment before, and none had failed since. */
  readonly wasWell: boolean
  /** Since the last success fulfilment has died at two events, each alone. */
  readonly isOutage: boolean
}

/**
 * Who may have made a call fail: `nobody` of its events, for fulfilment is away; one of several `suspects`; or, where
 * it travelled by itself and fulfilment was well otherwise, or died at this event only, the `culprit`.
 */
export function judgeFailedCall(call: FailedCall): 'nobody' | 'suspects' | 'culprit' {
  if (!call.reached || call.isOutage) return 'nobody'
  if (call.events === 1) return call.died || (call.wasClosed && call.wasWell) ? 'culprit' : 'nobody'
  return call.died || (call.wasClosed && call.wasWell) ? 'suspects' : 'nobody'
}

/** Fulfilment failed at this event alone, again and again, and was well otherwise. */
const FULFILMENT_FAILED = 'fulfilment_failed'

/** How a failed call counts. */
export interface Counting {
  readonly isCulprit: boolean
  readonly maxStarts: number
  /** Failed calls that count for the order of tries, but do not help to end the event. */
  readonly unconfirmed: number
}

/**
 * Counts a failed call against an event that was put off because of it. A culprit that has used up `maxStarts` failed
 * calls is dead.
 */
export function countFailedCall(putOff: SettledClaim, { isCulprit, maxStarts, unconfirmed }: Counting): SettledClaim {
  const counted = setFailedCalls(putOff, putOff.claim.failedCalls + 1)
  const { claim, settlement, attempt } = counted
  if (settlement.state !== 'pending' || !isCulprit || claim.failedCalls - unconfirmed < maxStarts) return counted
  const message = 'Fulfilment failed each time at this event alone'
  return {
    claim,
    settlement: { state: 'dead', reason: FULFILMENT_FAILED },
    attempt: { ...attempt, outcome: 'dead', code: FULFILMENT_FAILED, message },
  }
}

/** Takes back failed calls that turned out to be part of an outage. */
export function takeBackFailedCalls(putOff: SettledClaim, calls: number): SettledClaim {
  return calls === 0 ? putOff : setFailedCalls(putOff, Math.max(0, putOff.claim.failedCalls - calls))
}

function setFailedCalls(putOff: SettledClaim, failedCalls: number): SettledClaim {
  const { settlement, attempt } = putOff
  const claim = { ...putOff.claim, failedCalls }
  return settlement.state === 'pending'
    ? { claim, settlement: { ...settlement, failedCalls }, attempt }
    : { claim, settlement, attempt }
}
