import { formatEntityTag } from '@oncehook/kernel/entity-tag'
import { AppError, type RetryClass } from '@oncehook/kernel/errors'
import { contractMismatch } from '../errors.ts'
import type { PaymentCommand } from './payment-command.ts'

/** What fulfilment says of one event: its effect, or a refusal with the class of its retry. */
export type ApplyResult =
  | { readonly outcome: string; readonly version: number }
  | { readonly refused: string; readonly retry: RetryClass }

/** The two procedures of fulfilment that carry events. Both throw an AppError when the call as a whole fails. */
export interface PaymentProcedures {
  versions(orderIds: string[]): Promise<ReadonlyMap<string, number | null>>
  applyEvents(events: readonly (PaymentCommand & { ifMatch: string })[]): Promise<readonly ApplyResult[]>
}

const ROUNDS = 5

/**
 * Gives a batch of payments its effect: reads the versions, sends the events with them, and reads again for those that
 * met a newer version, at most 5 times. The results are in the order of the commands.
 * @throws AppError when fulfilment could not be asked, or could read none of the events: nothing is known of any then
 */
export async function applyPayments(
  fulfilment: PaymentProcedures,
  commands: readonly PaymentCommand[],
): Promise<ApplyResult[]> {
  const results = new Map<PaymentCommand, ApplyResult>()
  let open = commands
  for (let round = 0; round < ROUNDS && open.length > 0; round += 1) {
    const search: Search = { fulfilment, results, probes: 0, unreadable: 0, readable: round > 0 }
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

/** The search for the events of a batch that fulfilment cannot read. */
interface Search {
  readonly fulfilment: PaymentProcedures
  readonly results: Map<PaymentCommand, ApplyResult>
  probes: number
  /** How many single events could not be read. */
  unreadable: number
  /** Whether any event could be read: only then is it the fault of the others that they could not. */
  readable: boolean
  /** Why events could not be read. */
  refusal?: AppError
}

// A search that has begun its last split still probes the other halves that are left, at most one for each split above it.
const LAST_SPLIT = 54
// After this many unreadable events and no readable one, the rest is probed but not split.
const MANY_UNREADABLE = 12

/**
 * Sends commands, in halves when fulfilment cannot read one of them, until it is alone: it must not take its batch mates
 * down with it. Commands that the search has no probe left for get no result.
 */
async function probe(search: Search, commands: readonly PaymentCommand[]): Promise<void> {
  search.probes += 1
  try {
    const answers = await send(search.fulfilment, commands)
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
  fulfilment: PaymentProcedures,
  commands: readonly PaymentCommand[],
): Promise<readonly ApplyResult[]> {
  const versions = await fulfilment.versions([...new Set(commands.map(({ orderId }) => orderId))])
  const conditional = commands.map((command) => ({
    ...command,
    ifMatch: expectedVersion(versions.get(command.orderId)),
  }))
  return await fulfilment.applyEvents(conditional)
}

// Not a valid input, or too large a one.
const UNREADABLE = new Set([400, 413])

/** An order without a version is not there, or deleted: fulfilment says which, so any version will do. */
function expectedVersion(version: number | null | undefined): string {
  return version === null || version === undefined ? '*' : formatEntityTag(version)
}
