import { type AppError, toAppError } from '@oncehook/kernel/http/errors'
import { TIMED_OUT, withTimeout } from '@oncehook/kernel/time/waits'
import { unhandledReason } from '@oncehook/webhooks/providers'
import { contractMismatch } from '../errors.ts'
import type { AttemptResult, Claim, NoEffectReason, SettledClaim, Settlement } from '../inbox/claims/claim.ts'
import { type ApplyResult, applyPayments, type PaymentProcedures } from './apply-payments.ts'
import { HANDLERS } from './handlers.ts'
import { isBrokenConnection } from './health/broken-connection.ts'
import type { RecentAnswers } from './health/recent-answers.ts'
import type { PaymentCommand } from './payment-command.ts'
import { decideRetry, INTERNAL, type RetryLimits } from './retry-policy.ts'

/** Dependencies of `processBatch`. */
export interface ProcessDeps {
  readonly fulfilment: PaymentProcedures
  readonly limits: RetryLimits
  readonly random: () => number
  readonly recent: RecentAnswers
  /** Whether test events have effects. Default: no. */
  readonly appliesTests?: boolean
}

/** A call to fulfilment that failed as a whole. */
export interface CallFailure {
  readonly error: AppError
  /** Fulfilment had just answered the request for versions. */
  readonly reached: boolean
  /** After that, the connection broke without an answer. */
  readonly died: boolean
  /**
   * A handler, or what is in front of it, answered that it is unavailable or busy, or gave no answer in time. No event is
   * at fault, and after a success, one such call is not an outage. Default: no.
   */
  readonly isBusy?: boolean
  /** The events of the call. Nothing is known about them, so each would be postponed. */
  readonly putOff: readonly SettledClaim[]
}

/** The outcome of a batch. `failure` is set if fulfilment did not answer. `asked` shows whether it was called. */
export interface ProcessedBatch {
  /** All claims except those of a failed call. */
  readonly settled: readonly SettledClaim[]
  readonly asked: boolean
  readonly failure: CallFailure | null
}

/** Runs each claim's handler, sends the commands in one call and decides the result of every claim. Never throws. */
export async function processBatch(deps: ProcessDeps, claims: readonly Claim[]): Promise<ProcessedBatch> {
  const startedAt = performance.now()
  const { unhandled, refused, asked } = sortClaims(claims, deps.appliesTests === true)
  const answer = await callFulfilment(deps, asked)
  const ms = Math.round(performance.now() - startedAt)
  const isUnread = 'results' in answer && answer.isUnread
  if ('results' in answer && !isUnread && answer.results.some(([, result]) => isDecision(result))) {
    deps.recent.recordDecision()
  }
  const othersWork = isUnread || ('results' in answer && deps.recent.hasDecision)
  const settleOne = ([claim, result]: [Claim, ApplyResult]): SettledClaim =>
    settle(deps, { claim, result, ms, othersWork, isUnread })
  const decided = [...unhandled.map(([claim, reason]) => toUnhandled(claim, reason, ms)), ...refused.map(settleOne)]
  if ('results' in answer) {
    return { settled: [...decided, ...answer.results.map(settleOne)], asked: asked.length > 0, failure: null }
  }
  const { error, reached, died } = answer
  // Whatever made the call fail as a whole, nothing was decided about any single event.
  const result: ApplyResult = { refused: error.code, retry: 'later' }
  const putOff = asked.map(([claim]) => keepSuspicion(settleOne([claim, result])))
  return { settled: decided, asked: true, failure: { error, reached, died, putOff } }
}

interface SortedClaims {
  /** Without an effect: a replay may find a type without a handler, or one that its provider may not cause. */
  readonly unhandled: [Claim, NoEffectReason][]
  /** Decided without a call to fulfilment. */
  readonly refused: [Claim, ApplyResult][]
  readonly asked: [Claim, PaymentCommand][]
}

function sortClaims(claims: readonly Claim[], appliesTests: boolean): SortedClaims {
  const sorted: SortedClaims = { unhandled: [], refused: [], asked: [] }
  for (const claim of claims) {
    const handler = HANDLERS.get(claim.event.type)
    const reason = noEffectReason(claim, { isHandled: handler !== undefined, appliesTests })
    if (handler === undefined || reason !== null) {
      sorted.unhandled.push([claim, reason ?? 'type_unhandled'])
      continue
    }
    const handled = handler(appliesTests ? withoutMark(claim) : claim)
    if ('command' in handled) sorted.asked.push([claim, handled.command])
    else sorted.refused.push([claim, { refused: handled.refused, retry: 'never' }])
  }
  return sorted
}

function noEffectReason(
  { event, test }: Claim,
  { isHandled, appliesTests }: { readonly isHandled: boolean; readonly appliesTests: boolean },
): NoEffectReason | null {
  return test === true && !appliesTests ? 'test' : unhandledReason(event, () => isHandled)
}

function withoutMark({ test: _, ...claim }: Claim): Claim {
  return claim
}

function toUnhandled(claim: Claim, reason: NoEffectReason, ms: number): SettledClaim {
  return {
    claim,
    settlement: { state: 'unhandled', reason },
    attempt: { ms, outcome: 'unhandled', code: null, message: null },
  }
}

function keepSuspicion({ claim, settlement, attempt }: SettledClaim): SettledClaim {
  if (settlement.state !== 'pending') return { claim, settlement, attempt }
  const { failedCalls, internalErrors } = claim
  return { claim, settlement: { ...settlement, failedCalls, internalErrors }, attempt }
}

type Answer =
  | {
      readonly results: [Claim, ApplyResult][]
      /** The call had one event, and fulfilment could not read it. */
      readonly isUnread: boolean
    }
  | { readonly error: AppError; readonly reached: boolean; readonly died: boolean }

async function callFulfilment(
  { fulfilment, recent }: ProcessDeps,
  asked: readonly [Claim, PaymentCommand][],
): Promise<Answer> {
  if (asked.length === 0) return { results: [], isUnread: false }
  const commands = asked.map(([, command]) => command)
  const asksVersions = mustAskVersions(recent, asked)
  let reached = false
  const watched: PaymentProcedures = {
    async versions(orderIds) {
      reached = false
      if (!asksVersions) return NO_VERSIONS
      const versions = await fulfilment.versions(orderIds)
      reached = true
      return versions
    },
    async applyEvents(events) {
      const answers = await fulfilment.applyEvents(events)
      recent.readEvents()
      return answers
    },
  }
  try {
    const answers = await applyPayments(watched, commands)
    if (isFaultOfAll(commands, answers)) {
      recent.recordCall('failed')
      return { error: toAppError(new Error(FAULT)), reached: false, died: false }
    }
    recent.recordCall('answered')
    return { results: asked.map(([claim], index) => [claim, answers[index] ?? UNKNOWN]), isUnread: false }
  } catch (thrown) {
    recent.recordCall('failed')
    if (contractMismatch.is(thrown)) {
      const { hasReadSinceMismatch } = recent
      recent.readNothing()
      const refusal = toAppError(thrown.cause).code
      if (hasReadSinceMismatch && isLoneRetry(asked)) {
        return { results: asked.map(([claim]) => [claim, { refused: refusal, retry: 'later' }]), isUnread: true }
      }
      // If the releases do not match, no event is at fault.
      reached = false
    } else if (!asksVersions) reached = await isThere(fulfilment, commands)
    return { error: toAppError(thrown), reached, died: reached && isBrokenConnection(thrown) }
  }
}

const NO_VERSIONS: ReadonlyMap<string, number | null> = new Map()

/**
 * Whether the versions are asked for before the call. Fulfilment needs none: it makes each change on the version that
 * it reads itself. But their answer shows that it was there just before a call that fails. A failed call without it
 * asks afterwards, which shows less: fulfilment may have died at one of the events. So for a minute after a failed
 * call, and for suspects and retries, they are asked for before: only an event's first attempt can kill fulfilment
 * without being blamed.
 */
function mustAskVersions(recent: RecentAnswers, asked: readonly [Claim, PaymentCommand][]): boolean {
  if (!recent.isReliable) return true
  return asked.some(([{ lost, failedCalls, failures }]) => lost > 0 || failedCalls > 0 || failures > 0)
}

// A call that hangs takes 10 s, and is given up within 12 s with this.
const THERE_MS = 1_000

/** Whether fulfilment still answers after a call that failed. */
async function isThere(fulfilment: PaymentProcedures, [first]: readonly PaymentCommand[]): Promise<boolean> {
  if (first === undefined) return false
  const answer = fulfilment.versions([first.orderId]).catch(() => null)
  const versions = await withTimeout(answer, THERE_MS)
  return versions !== TIMED_OUT && versions !== null
}

/** Only the next attempt shows whether the event is at fault: by then others have been read, or none. */
function isLoneRetry(asked: readonly [Claim, PaymentCommand][]): boolean {
  return asked.length === 1 && asked.every(([{ failures }]) => failures > 0)
}

const FAULT = 'Fulfilment answered every order of a call with an internal error'

/** Then nothing is wrong with any single order, so this counts as a failed call. */
function isFaultOfAll(commands: readonly PaymentCommand[], answers: readonly ApplyResult[]): boolean {
  const [first] = commands
  return commands.some(({ orderId }) => orderId !== first?.orderId) && answers.every(isFault)
}

function isFault(result: ApplyResult): boolean {
  return 'refused' in result && result.refused === INTERNAL
}

function isDecision(result: ApplyResult): boolean {
  return 'outcome' in result || (result.refused !== INTERNAL && result.refused !== UNAVAILABLE)
}

const UNAVAILABLE = 'unavailable'
const UNKNOWN: ApplyResult = { refused: UNAVAILABLE, retry: 'later' }

interface Answered {
  readonly claim: Claim
  readonly result: ApplyResult
  readonly ms: number
  readonly othersWork: boolean
  readonly isUnread: boolean
}

function settle({ limits, random }: ProcessDeps, { claim, result, ms, othersWork, isUnread }: Answered): SettledClaim {
  if ('outcome' in result) {
    const settlement: Settlement = { state: 'done', outcome: { kind: result.outcome, version: result.version } }
    return { claim, settlement, attempt: { ms, outcome: result.outcome, code: null, message: null } }
  }
  const { refused: code, retry } = result
  const isFault = isUnread || code === INTERNAL
  const settlement = decideRetry({ ...claim, othersWork, isFault, code, retry }, limits, random)
  return { claim, settlement, attempt: toAttempt(result.refused, settlement, ms) }
}

const SAYS: Readonly<Record<string, string>> = {
  amount_mismatch: 'The amount of the event is not the amount due',
  amount_missing: 'The event has no amount with a currency, but its provider must send both',
  currency_mismatch: 'The currency of the event is not the currency of the order',
  order_unknown: 'No order has this id yet',
  test_event: 'A test event has no effect',
  order_deleted: 'The order has been deleted',
  contract_mismatch: 'Fulfilment could not read any of the events it received',
  unavailable: 'Fulfilment could not be reached',
  internal: 'Fulfilment has an internal error with this event',
}

function toAttempt(code: string, settlement: Settlement, ms: number): AttemptResult {
  const outcome = settlement.state === 'dead' ? 'dead' : 'deferred'
  return { ms, outcome, code, message: SAYS[code] ?? `Refused by fulfilment: ${code}` }
}
