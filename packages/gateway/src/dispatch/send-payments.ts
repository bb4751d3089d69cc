import { type AppError, toAppError } from '@oncehook/kernel/http/errors'
import { unhandledReason } from '@oncehook/webhooks/providers'
import { contractMismatch } from '../errors.ts'
import type { AttemptResult, Claim, NoEffectReason, SettledClaim, Settlement } from '../inbox/claims/claim.ts'
import { type ApplyResult, applyPayments, type PaymentProcedures } from './apply-payments.ts'
import { isBrokenCall } from './broken-call.ts'
import { HANDLERS } from './handlers.ts'
import type { Handled, PaymentCommand } from './payment-command.ts'
import { decideRetry, INTERNAL, type RetryLimits } from './retry-policy.ts'
import type { Sent } from './sent.ts'

/** Dependencies of `sendPayments`. */
export interface SendPaymentsDeps {
  readonly fulfilment: PaymentProcedures
  readonly limits: RetryLimits
  readonly random: () => number
  /** The time of the database's clock. */
  readonly databaseNow: () => number
  /** Whether test events have effects. Default: no. */
  readonly appliesTests?: boolean
}

/** Sends the commands of claimed tasks to fulfilment in one call, and decides the result of each. Never throws. */
export async function sendPayments(deps: SendPaymentsDeps, claims: readonly Claim[]): Promise<Sent> {
  const startedAt = performance.now()
  const { unhandled, refused, asked } = sortClaims(claims, deps.appliesTests === true)
  const answer = await callFulfilment(deps, asked)
  const ms = Math.round(performance.now() - startedAt)
  const decided = [
    ...unhandled.map(([claim, reason]) => toUnhandled(claim, reason, ms)),
    ...refused.map(([claim, result]) => settle(deps, { claim, result, ms })),
  ]
  if ('error' in answer) {
    const result: ApplyResult = { refused: answer.error.code, retry: 'later' }
    const broke = isBrokenCall(answer.error) && new Date(deps.databaseNow())
    const putOff = asked.map(([claim]) => withBroken(settle(deps, { claim, result, ms }), broke))
    return { settled: decided, hasVerdict: false, failure: { error: answer.error, putOff }, late: [], unread: null }
  }
  const settled = [...decided, ...answer.results.map(([claim, result]) => settle(deps, { claim, result, ms }))]
  const hasVerdict = answer.results.some(([, result]) => isVerdict(result))
  return { settled, hasVerdict, failure: null, late: [], unread: null }
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
    const { test: _, ...unmarked } = claim
    const handled = handle(appliesTests ? unmarked : claim)
    if ('command' in handled) sorted.asked.push([claim, handled.command])
    else if ('refused' in handled) sorted.refused.push([claim, { refused: handled.refused, retry: 'never' }])
    else sorted.unhandled.push([claim, handled.reason])
  }
  return sorted
}

function handle(claim: Claim): Handled | { readonly reason: NoEffectReason } {
  const { event, test } = claim
  const handler = HANDLERS.get(event.type)
  const reason = test === true ? 'test' : unhandledReason(event, () => handler !== undefined)
  if (reason !== null) return { reason }
  return handler === undefined ? { reason: 'type_unhandled' } : handler(claim)
}

function toUnhandled(claim: Claim, reason: NoEffectReason, ms: number): SettledClaim {
  const attempt = { ms, outcome: 'unhandled', code: null, message: null }
  return { claim, settlement: { state: 'unhandled', reason }, attempt }
}

type Answer = { readonly results: [Claim, ApplyResult][] } | { readonly error: AppError }

async function callFulfilment(
  { fulfilment }: SendPaymentsDeps,
  asked: readonly [Claim, PaymentCommand][],
): Promise<Answer> {
  if (asked.length === 0) return { results: [] }
  const commands = asked.map(([, command]) => command)
  try {
    const answers = await applyPayments(fulfilment, commands)
    if (isFaultOfAll(commands, answers)) return { error: toAppError(new Error(FAULT)) }
    return { results: asked.map(([claim], index) => [claim, answers[index] ?? UNKNOWN]) }
  } catch (thrown) {
    // Fulfilment could not read a single event, which it has tried again: that is the event's fault.
    const isOne = contractMismatch.is(thrown) && asked.length === 1
    if (!isOne || asked.some(([{ failures }]) => failures === 0)) return { error: toAppError(thrown) }
    const refused = toAppError(thrown.cause).code
    return { results: asked.map(([claim]) => [claim, { refused, retry: 'later' }]) }
  }
}

const FAULT = 'Fulfilment answered every order of a call with an internal error'

/** Then nothing is wrong with any single order, so this counts as a failed call. */
function isFaultOfAll(commands: readonly PaymentCommand[], answers: readonly ApplyResult[]): boolean {
  const [first] = commands
  const isFault = (result: ApplyResult): boolean => 'refused' in result && result.refused === INTERNAL
  return commands.some(({ orderId }) => orderId !== first?.orderId) && answers.every(isFault)
}

const UNAVAILABLE = 'unavailable'
const UNKNOWN: ApplyResult = { refused: UNAVAILABLE, retry: 'later' }

function isVerdict(result: ApplyResult): boolean {
  return 'outcome' in result || (result.refused !== INTERNAL && result.refused !== UNAVAILABLE)
}

function withBroken({ claim, settlement, attempt }: SettledClaim, broke: Date | false): SettledClaim {
  return { claim, settlement: settlement.state === 'pending' ? { ...settlement, broke } : settlement, attempt }
}

interface Answered {
  readonly claim: Claim
  readonly result: ApplyResult
  readonly ms: number
}

function settle({ limits, random }: SendPaymentsDeps, { claim, result, ms }: Answered): SettledClaim {
  if ('outcome' in result) {
    const settlement: Settlement = { state: 'done', outcome: { kind: result.outcome, version: result.version } }
    return { claim, settlement, attempt: { ms, outcome: result.outcome, code: null, message: null } }
  }
  const { refused: code, retry } = result
  const settlement = decideRetry({ claim, code, retry }, limits, random)
  return { claim, settlement, attempt: toAttempt(code, settlement, ms) }
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
