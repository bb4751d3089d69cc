import type { Clock } from '@oncehook/kernel/time/clock'
import type { Backoff } from '@oncehook/kernel/time/waits'
import type { SettledClaim } from '../../inbox/claims/claim.ts'
import type { CallFailure } from '../process-batch.ts'
import { checkFailedCall, countFailedCall, takeBackFailedCalls } from './blame.ts'
import { type Breaker, createBreaker } from './breaker.ts'
import { type Sending, SinceSuccess } from './since-success.ts'

/** Dependencies of the health of calls. */
interface CallHealthDeps {
  readonly clock: Clock
  readonly random: () => number
  /** How many calls to fulfilment an event may make fail. */
  readonly maxCrashes: number
}

/** What was known when a call was sent. */
export interface Before {
  readonly wasClosed: boolean
  readonly sending: Sending
}

/** What a failed call means. */
interface FailureAssessment {
  /** The events to postpone, with the failed calls that count against them. */
  readonly counted: readonly SettledClaim[]
  /** Fulfilment was well otherwise: the call failed because of its events, or was one too many for a moment. */
  readonly isWellOtherwise: boolean
}

const PROBES: Backoff = { baseMs: 250, capMs: 5_000 }
// An older success does not show how fulfilment is now.
const WELL_FOR_MS = 5_000

/** The health of fulfilment, as seen from the calls of one process, and which events may have made a call fail. */
export class CallHealth {
  readonly #deps: CallHealthDeps
  readonly #breaker: Breaker
  readonly #sinceSuccess = new SinceSuccess()
  /** When a call last succeeded. Null if none has succeeded, or if one has failed since. */
  #wellAt: number | null = null

  constructor(deps: CallHealthDeps) {
    this.#deps = deps
    this.#breaker = createBreaker(PROBES, deps.random)
  }

  /** Whether all calls are allowed. */
  get isUp(): boolean {
    return this.#breaker.closed
  }

  /** Whether a call is allowed now: always if fulfilment is up, otherwise when the next probe is due. */
  get allowsCall(): boolean {
    return this.#breaker.allows(this.#deps.clock.now())
  }

  /** Keep this with a call that is sent now. */
  get before(): Before {
    return { wasClosed: this.#breaker.closed, sending: this.#sinceSuccess.sending }
  }

  /** A call succeeded. */
  succeeded(): void {
    this.#breaker.succeeded()
    this.#sinceSuccess.succeeded()
    this.#wellAt = this.#deps.clock.now()
  }

  /** Fulfilment is down: only probes are allowed until one succeeds. */
  wentDown(): void {
    this.#breaker.failed(this.#deps.clock.now())
  }

  /** Counts a call that failed as a whole. */
  failed(failure: CallFailure, before: Before): FailureAssessment {
    const now = this.#deps.clock.now()
    const wasWell = this.#wellAt !== null && Math.abs(now - this.#wellAt) < WELL_FOR_MS
    this.#wellAt = null
    const counted = this.#blame(failure, { ...before, wasWell })
    const isThere = failure.reached || failure.isBusy === true
    return { counted, isWellOtherwise: isThere && before.wasClosed && wasWell }
  }

  /** Counts a failed call against its events, and removes what was counted since an outage began. */
  #blame({ reached, died, putOff }: CallFailure, before: Before & { readonly wasWell: boolean }): SettledClaim[] {
    const { wasClosed, wasWell, sending } = before
    const since = this.#sinceSuccess
    const [only] = putOff
    if (died && only !== undefined && putOff.length === 1) since.diedAlone(idOf(only), sending)
    const { isOutage } = since
    const blamed = checkFailedCall({ events: putOff.length, reached, died, wasClosed, wasWell, isOutage })
    if (isOutage) return putOff.map((one) => takeBackFailedCalls(one, since.takeBack(idOf(one))))
    if (blamed === 'nobody') return [...putOff]
    const isCulprit = blamed === 'culprit'
    return putOff.map((one) => {
      since.count(idOf(one), isCulprit ? 'alone' : 'together')
      const unconfirmed = since.together(idOf(one))
      return countFailedCall(one, { isCulprit, maxCrashes: this.#deps.maxCrashes, unconfirmed })
    })
  }
}

function idOf({ claim }: SettledClaim): string {
  return String(claim._id)
}
