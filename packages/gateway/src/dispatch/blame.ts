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
}

/**
 * Who may have made a call fail: `nobody` of its events, for fulfilment is away; one of several `suspects`; or, where
 * it travelled by itself and fulfilment was well otherwise, the `culprit`. An outage never makes a culprit.
 */
export function judgeFailedCall(call: FailedCall): 'nobody' | 'suspects' | 'culprit' {
  if (!call.reached) return 'nobody'
  if (call.events === 1) return call.died || (call.wasClosed && call.wasWell) ? 'culprit' : 'nobody'
  return call.died || (call.wasClosed && call.wasWell) ? 'suspects' : 'nobody'
}

/** Fulfilment failed at this event alone, again and again, and was well otherwise. */
const FULFILMENT_FAILED = 'fulfilment_failed'

/**
 * Counts a failed call against an event that was put off because of it. A culprit that has used up `maxStarts` failed
 * calls is dead.
 */
export function countFailedCall(putOff: SettledClaim, isCulprit: boolean, maxStarts: number): SettledClaim {
  const { settlement, attempt } = putOff
  const claim = { ...putOff.claim, failedCalls: putOff.claim.failedCalls + 1 }
  if (settlement.state !== 'pending') return { ...putOff, claim }
  if (!isCulprit || claim.failedCalls < maxStarts) {
    return { claim, settlement: { ...settlement, failedCalls: claim.failedCalls }, attempt }
  }
  const message = 'Fulfilment failed each time at this event alone'
  return {
    claim,
    settlement: { state: 'dead', reason: FULFILMENT_FAILED },
    attempt: { ...attempt, outcome: 'dead', code: FULFILMENT_FAILED, message },
  }
}
