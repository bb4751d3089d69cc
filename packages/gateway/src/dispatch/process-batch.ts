import { type AppError, toAppError } from '@oncehook/kernel/errors'
import type { AttemptResult, Claim, SettledClaim, Settlement } from '../inbox/claims.ts'
import { type ApplyResult, applyPayments, type PaymentProcedures } from './apply-payments.ts'
import { HANDLERS } from './handlers.ts'
import type { PaymentCommand } from './payment-command.ts'
import { decideRetry, type RetryLimits } from './retry-policy.ts'

/** What a batch is processed with. */
export interface ProcessDeps {
  readonly fulfilment: PaymentProcedures
  readonly limits: RetryLimits
  readonly random: () => number
}

/** The outcome of a batch. `failure` is set when fulfilment did not answer; `asked` tells whether it had to. */
export interface ProcessedBatch {
  readonly settled: readonly SettledClaim[]
  readonly asked: boolean
  readonly failure: AppError | null
}

/** Runs each claim's handler, sends the commands in one call and decides what becomes of every claim. Never throws. */
export async function processBatch(deps: ProcessDeps, claims: readonly Claim[]): Promise<ProcessedBatch> {
  const startedAt = performance.now()
  const refused: [Claim, ApplyResult][] = []
  const asked: [Claim, PaymentCommand][] = []
  for (const claim of claims) {
    const handled = HANDLERS.get(claim.event.type)?.(claim) ?? { refused: UNHANDLED }
    if ('command' in handled) asked.push([claim, handled.command])
    else refused.push([claim, { refused: handled.refused, retry: 'never' }])
  }
  const { results, failure } = await ask(deps, asked)
  const ms = Math.round(performance.now() - startedAt)
  const settled = [...refused, ...results].map(([claim, result]) => settle(deps, { claim, result, ms }))
  return { settled, asked: asked.length > 0, failure }
}

async function ask(
  { fulfilment }: ProcessDeps,
  asked: readonly [Claim, PaymentCommand][],
): Promise<{ results: [Claim, ApplyResult][]; failure: AppError | null }> {
  if (asked.length === 0) return { results: [], failure: null }
  const commands = asked.map(([, command]) => command)
  try {
    const answers = await applyPayments(fulfilment, commands)
    return { results: asked.map(([claim], index) => [claim, answers[index] ?? UNKNOWN]), failure: null }
  } catch (thrown) {
    const failure = toAppError(thrown)
    // Whatever the reason why the call as a whole failed, nothing was decided about any single event.
    return { results: asked.map(([claim]) => [claim, { refused: failure.code, retry: 'later' }]), failure }
  }
}

const UNKNOWN: ApplyResult = { refused: 'unavailable', retry: 'later' }

// A replay may find a type that still nobody handles.
const UNHANDLED = 'type_unhandled'

interface Judged {
  readonly claim: Claim
  readonly result: ApplyResult
  readonly ms: number
}

function settle({ limits, random }: ProcessDeps, { claim, result, ms }: Judged): SettledClaim {
  if ('outcome' in result) {
    const settlement: Settlement = { state: 'done', outcome: { kind: result.outcome, version: result.version } }
    return { claim, settlement, attempt: { ms, outcome: result.outcome, code: null, message: null } }
  }
  if (result.refused === UNHANDLED) {
    return {
      claim,
      settlement: { state: 'unhandled' },
      attempt: { ms, outcome: 'unhandled', code: null, message: null },
    }
  }
  const settlement = decideRetry({ ...claim, code: result.refused, retry: result.retry }, limits, random)
  return { claim, settlement, attempt: toAttempt(result.refused, settlement, ms) }
}

const SAYS: Readonly<Record<string, string>> = {
  amount_mismatch: 'The amount of the event is not the amount due of the order',
  currency_mismatch: 'The currency of the event is not that of the order',
  order_unknown: 'No order has this id yet',
  order_deleted: 'The order has been deleted',
  contract_mismatch: 'Fulfilment could read none of the events that it was sent',
  unavailable: 'Fulfilment could not be reached',
}

function toAttempt(code: string, settlement: Settlement, ms: number): AttemptResult {
  const outcome = settlement.state === 'dead' ? 'dead' : 'deferred'
  return { ms, outcome, code, message: SAYS[code] ?? `Refused by fulfilment: ${code}` }
}
