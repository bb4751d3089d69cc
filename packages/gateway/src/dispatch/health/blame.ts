import type { SettledClaim } from '../../inbox/claims/claim.ts'

/** A call to fulfilment that failed as a whole, and what was known at the time. */
export interface FailedCall {
  /** The number of events in the call. */
  readonly events: number
  /** Fulfilment had just answered the request for versions. */
  readonly reached: boolean
  /** After that, the connection broke without an answer, as it does when a process dies. */
  readonly died: boolean
  /** The breaker was closed when the call was sent. */
  readonly wasClosed: boolean
  /** Another call had succeeded a moment before, and none had failed since. */
  readonly wasWell: boolean
  /** Since the last success, fulfilment has died at two events, each sent alone. */
  readonly isOutage: boolean
}

/**
 * Decides which events may have made a call fail. `nobody`: none, because fulfilment is unavailable. `suspects`: one of
 * several events. `culprit`: the only event of the call, if fulfilment worked otherwise or died only at this event.
 */
export function checkFailedCall(call: FailedCall): 'nobody' | 'suspects' | 'culprit' {
  if (!call.reached || call.isOutage) return 'nobody'
  if (call.events === 1) return call.died || (call.wasClosed && call.wasWell) ? 'culprit' : 'nobody'
  return call.died || (call.wasClosed && call.wasWell) ? 'suspects' : 'nobody'
}

/** Fulfilment failed repeatedly on this event alone, and worked otherwise. */
const FULFILMENT_FAILED = 'fulfilment_failed'

/** How a failed call counts. */
export interface Counting {
  readonly isCulprit: boolean
  readonly maxCrashes: number
  /** Failed calls that affect how the event is sent, but do not count towards its end. */
  readonly unconfirmed: number
}

/**
 * Counts a failed call against an event that was postponed because of it. A culprit that has used up `maxStarts` failed
 * calls is dead.
 */
export function countFailedCall(putOff: SettledClaim, { isCulprit, maxCrashes, unconfirmed }: Counting): SettledClaim {
  const counted = setFailedCalls(putOff, putOff.claim.failedCalls + 1)
  const { claim, settlement, attempt } = counted
  if (settlement.state !== 'pending' || !isCulprit || claim.failedCalls - unconfirmed < maxCrashes) return counted
  const message = 'Fulfilment failed every time it handled this event alone'
  return {
    claim,
    settlement: { state: 'dead', reason: FULFILMENT_FAILED },
    attempt: { ...attempt, outcome: 'dead', code: FULFILMENT_FAILED, message },
  }
}

/** Removes failed calls that turned out to be part of an outage. */
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
