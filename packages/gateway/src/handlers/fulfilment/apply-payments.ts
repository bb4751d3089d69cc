import { AppError, type RetryClass } from '@oncehook/kernel/http/errors'
import { contractMismatch } from '../../errors.ts'
import type { PaymentCommand } from './payment-command.ts'

export type ApplyResult =
  | { readonly outcome: string; readonly version: number }
  | { readonly refused: string; readonly retry: RetryClass }

/** The procedure of fulfilment that carries events. It throws an AppError if the call as a whole fails. */
export type ApplyEvents = (
  events: readonly (PaymentCommand & { readonly ifMatch: '*' })[],
) => Promise<readonly ApplyResult[]>

/**
 * Applies a batch of payments. Fulfilment makes each change on the version of the order that it reads, so any version will do, and an
 * order that does not exist or is deleted has its own answer. The results are in the order of the commands.
 * @throws AppError if fulfilment could not be called, or could read none of the events. Then nothing is known about any
 * of them.
 */
export async function applyPayments(
  applyEvents: ApplyEvents,
  commands: readonly PaymentCommand[],
): Promise<ApplyResult[]> {
  const results = new Map<PaymentCommand, ApplyResult>()
  const search: Search = { applyEvents, results, probes: 0, unreadable: 0, readable: false }
  await probe(search, commands)
  if (!search.readable) throw contractMismatch({ events: commands.length }, { cause: search.refusal })
  return commands.map((command) => results.get(command) ?? UNANSWERED)
}

const UNANSWERED: ApplyResult = { refused: 'unavailable', retry: 'later' }

interface Search {
  readonly applyEvents: ApplyEvents
  readonly results: Map<PaymentCommand, ApplyResult>
  probes: number
  unreadable: number
  /** Whether any event could be read. Only then are the unreadable events at fault. */
  readable: boolean
  refusal?: AppError
}

// A search that has begun its last split still probes the remaining halves, at most one for each split above it.
const LAST_SPLIT = 54
// After this many unreadable events and no readable one, the rest is probed but not split.
const MANY_UNREADABLE = 12

/**
 * Sends commands. If fulfilment cannot read one of them, sends them in halves until it is alone, so that the other
 * events of its batch do not fail with it. Commands get no result if the search has no probe left for them.
 */
async function probe(search: Search, commands: readonly PaymentCommand[]): Promise<void> {
  search.probes += 1
  try {
    const answers = await search.applyEvents(commands.map((command) => ({ ...command, ifMatch: '*' })))
    search.readable = true
    for (const [index, command] of commands.entries()) search.results.set(command, answers[index] ?? UNANSWERED)
  } catch (error) {
    if (!(error instanceof AppError) || !UNREADABLE.has(error.status)) throw error
    search.refusal = error
    await isolate(search, commands, error)
  }
}

async function isolate(search: Search, commands: readonly PaymentCommand[], error: AppError): Promise<void> {
  const [first, ...others] = commands
  if (first === undefined) return
  if (others.length === 0) {
    search.unreadable += 1
    search.results.set(first, { refused: error.code, retry: 'never' })
    return
  }
  if (search.probes > LAST_SPLIT || (!search.readable && search.unreadable >= MANY_UNREADABLE)) return
  const middle = commands.length >> 1
  await probe(search, commands.slice(0, middle))
  await probe(search, commands.slice(middle))
}

// The input is invalid, or too large.
const UNREADABLE = new Set([400, 413])
