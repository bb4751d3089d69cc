import { type AppError, toAppError } from '@oncehook/kernel/http/errors'
import type { Logger } from '@oncehook/kernel/log/logger'
import type { Claim, SettledClaim } from '@oncehook/queue/claim/claim'
import {
  isBrokenCall,
  putOff,
  type Retries,
  settleDone,
  settleRefused,
  settleUnhandled,
} from '@oncehook/queue/dispatch/retry-policy'
import type { Sent } from '@oncehook/queue/dispatch/send'
import { isPaymentEventType, unhandledReason } from '@oncehook/webhooks/providers'
import { contractMismatch } from '../../errors.ts'
import { eventOf, isTest, type NoEffectReason } from '../../inbox/event-document.ts'
import type { DispatchMetrics } from '../../metrics.ts'
import { type ApplyEvents, type ApplyResult, applyPayments } from './apply-payments.ts'
import { type PaymentCommand, toPaymentCommand } from './payment-command.ts'

const ORDER_UNKNOWN = 'order_unknown'
const INTERNAL = 'internal'

const HOUR_MS = 3_600_000

/** The codes of fulfilment that are the reason of a dead event themselves, the first one after an hour. */
export const FULFILMENT_CODES: Retries['limits']['ofCodes'] = new Map([
  [ORDER_UNKNOWN, HOUR_MS],
  [INTERNAL, Number.POSITIVE_INFINITY],
])

export interface SendPaymentsDeps extends Retries {
  readonly applyEvents: ApplyEvents
  readonly databaseNow: () => number
  readonly appliesTests?: boolean
}

/** Sends the commands of claimed tasks to fulfilment in one call, and decides the result of each. Never throws. */
export async function sendPayments(deps: SendPaymentsDeps, claims: readonly Claim[]): Promise<Sent> {
  const startedAt = performance.now()
  const { unhandled, refused, asked } = sortClaims(claims, deps.appliesTests === true)
  const answer = await callFulfilment(deps, asked)
  const ms = Math.round(performance.now() - startedAt)
  const decided = [
    ...unhandled.map(([claim, reason]) => settleUnhandled(claim, reason, ms)),
    ...refused.map(([claim, result]) => settle(deps, { claim, result, ms })),
  ]
  if ('error' in answer) {
    const result: ApplyResult = { refused: answer.error.code, retry: 'later' }
    const broke = isBrokenCall(answer.error) && new Date(deps.databaseNow())
    const offs = asked.map(([claim]) => putOff(settle(deps, { claim, result, ms }), broke))
    return {
      settled: decided,
      hasVerdict: false,
      failure: { error: answer.error, putOff: offs },
      late: [],
      unread: null,
    }
  }
  const settled = [...decided, ...answer.results.map(([claim, result]) => settle(deps, { claim, result, ms }))]
  const hasVerdict = answer.results.some(([, result]) => isVerdict(result))
  return { settled, hasVerdict, failure: null, late: [], unread: null }
}

interface SortedClaims {
  readonly unhandled: [Claim, NoEffectReason][]
  readonly refused: [Claim, ApplyResult][]
  readonly asked: [Claim, PaymentCommand][]
}

function sortClaims(claims: readonly Claim[], appliesTests: boolean): SortedClaims {
  const sorted: SortedClaims = { unhandled: [], refused: [], asked: [] }
  for (const claim of claims) {
    const read = readClaim(claim, appliesTests)
    if ('command' in read) sorted.asked.push([claim, read.command])
    else if ('refused' in read) sorted.refused.push([claim, { refused: read.refused, retry: 'never' }])
    else sorted.unhandled.push([claim, read.reason])
  }
  return sorted
}

function readClaim(
  claim: Claim,
  appliesTests: boolean,
): ReturnType<typeof toPaymentCommand> | { readonly reason: NoEffectReason } {
  if (isTest(claim) && !appliesTests) return { reason: 'test' }
  const event = eventOf(claim)
  const reason = unhandledReason(event)
  if (reason !== null) return { reason }
  return isPaymentEventType(event.type) ? toPaymentCommand(claim, event.type) : { reason: 'type_unhandled' }
}

type Answer = { readonly results: [Claim, ApplyResult][] } | { readonly error: AppError }

async function callFulfilment(
  { applyEvents }: SendPaymentsDeps,
  asked: readonly [Claim, PaymentCommand][],
): Promise<Answer> {
  if (asked.length === 0) return { results: [] }
  const commands = asked.map(([, command]) => command)
  try {
    const answers = await applyPayments(applyEvents, commands)
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

interface Answered {
  readonly claim: Claim
  readonly result: ApplyResult
  readonly ms: number
}

function settle(deps: SendPaymentsDeps, { claim, result, ms }: Answered): SettledClaim {
  if ('outcome' in result) return settleDone(claim, { kind: result.outcome, version: result.version }, ms)
  const { refused, retry } = result
  const message = SAYS[refused] ?? `Refused by fulfilment: ${refused}`
  return settleRefused(deps, claim, { refused, retry, message }, ms)
}

const SAYS: Readonly<Record<string, string>> = {
  amount_mismatch: 'The amount of the event is not the amount due',
  amount_missing: 'The event has no amount with a currency, but its provider must send both',
  currency_mismatch: 'The currency of the event is not the currency of the order',
  order_unknown: 'No order has this id yet',
  order_deleted: 'The order has been deleted',
  contract_mismatch: 'Fulfilment could not read any of the events it received',
  unavailable: 'Fulfilment could not be reached',
  internal: 'Fulfilment has an internal error with this event',
}

/** If fulfilment could read no event of a batch, counts this and logs it as an error. Returns the batch as it is. */
export function reportMismatch(
  batch: Sent,
  { logger, metrics }: { readonly logger: Logger; readonly metrics: Pick<DispatchMetrics, 'contractMismatch'> },
): Sent {
  const error = batch.failure?.error
  if (contractMismatch.is(error)) {
    metrics.contractMismatch()
    logger.error({ error }, 'dispatch.contract-mismatch')
  }
  return batch
}
