import { AppError, type RetryClass } from '@oncehook/kernel/http/errors'
import { formatEntityTag } from '@oncehook/kernel/http/preconditions'
import { contractMismatch } from '../../errors.ts'
import type { PaymentCommand } from './payment-command.ts'

export type ApplyResult =
  | { readonly outcome: string; readonly version: number }
  | { readonly refused: string; readonly retry: RetryClass }

/** The two procedures of fulfilment that carry events. Both throw an AppError if the call as a whole fails. */
export interface PaymentProcedures {
  versions(orderIds: string[]): Promise<ReadonlyMap<string, number | null>>
  applyEvents(events: readonly (PaymentCommand & { ifMatch: string })[]): Promise<readonly ApplyResult[]>
}

const ROUNDS = 5

/**
 * Applies a batch of payments. Fulfilment makes each change on the version of the order that it reads. An event that met a newer
 * one is sent again with the current version, in at most 5 rounds. The results are in the order of the commands.
 * @throws AppError if fulfilment could not be called, or could read none of the events. Then nothing is known about any
 * of them.
 */
export async function applyPayments(
  fulfilment: PaymentProcedures,
  commands: readonly PaymentCommand[],
): Promise<ApplyResult[]> {
  const results = new Map<PaymentCommand, ApplyResult>()
  let open = commands
  for (let round = 0; round < ROUNDS && open.length > 0; round += 1) {
    const isAgain = round > 0
    const search: Search = { fulfilment, results, isAgain, probes: 0, unreadable: 0, readable: isAgain }
    await probe(search, open)
    if (!search.readable) throw contractMismatch({ events: open.length }, { cause: search.refusal })
    open = open.filter((command) => wantsAnotherRound(results.get(command)))
  }
  return commands.map((command) => results.get(command) ?? UNANSWERED)
}

const UNANSWERED: ApplyResult = { refused: 'unavailable', retry: 'later' }

function wantsAnotherRound(answer: ApplyResult | undefined): boolean {
  return answer !== undefined && 'refused' in answer && answer.retry === 'now'
}

interface Search {
  readonly fulfilment: PaymentProcedures
  readonly results: Map<PaymentCommand, ApplyResult>
  readonly isAgain: boolean
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
    const answers = await send(search, commands)
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

async function send(
  { fulfilment, isAgain }: Search,
  commands: readonly PaymentCommand[],
): Promise<readonly ApplyResult[]> {
  const orderIds = isAgain ? [...new Set(commands.map(({ orderId }) => orderId))] : []
  const versions = isAgain ? await fulfilment.versions(orderIds) : NONE_KNOWN
  const conditional = commands.map((command) => ({
    ...command,
    ifMatch: expectedVersion(versions.get(command.orderId)),
  }))
  return await fulfilment.applyEvents(conditional)
}

const NONE_KNOWN: ReadonlyMap<string, number | null> = new Map()

// The input is invalid, or too large.
const UNREADABLE = new Set([400, 413])

/** Any version will do if none is known: fulfilment reports an order that does not exist or is deleted. */
function expectedVersion(version: number | null | undefined): string {
  return version === null || version === undefined ? '*' : formatEntityTag(version)
}
