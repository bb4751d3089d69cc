import { formatEntityTag } from '@oncehook/kernel/entity-tag'
import { AppError, type RetryClass } from '@oncehook/kernel/errors'
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
 * @throws AppError when fulfilment could not be asked, with nothing known of any event
 */
export async function applyPayments(
  fulfilment: PaymentProcedures,
  commands: readonly PaymentCommand[],
): Promise<ApplyResult[]> {
  const results = new Map<PaymentCommand, ApplyResult>()
  let open = commands
  for (let round = 0; round < ROUNDS && open.length > 0; round += 1) {
    const answers = await applyOnce(fulfilment, open)
    open.forEach((command, index) => {
      results.set(command, answers[index] ?? UNANSWERED)
    })
    open = open.filter((_, index) => wantsAnotherRound(answers[index]))
  }
  return commands.map((command) => results.get(command) ?? UNANSWERED)
}

const UNANSWERED: ApplyResult = { refused: 'unavailable', retry: 'later' }

function wantsAnotherRound(answer: ApplyResult | undefined): boolean {
  return answer !== undefined && 'refused' in answer && answer.retry === 'now'
}

async function applyOnce(
  fulfilment: PaymentProcedures,
  commands: readonly PaymentCommand[],
): Promise<readonly ApplyResult[]> {
  try {
    const versions = await fulfilment.versions([...new Set(commands.map(({ orderId }) => orderId))])
    const conditional = commands.map((command) => ({
      ...command,
      ifMatch: expectedVersion(versions.get(command.orderId)),
    }))
    return await fulfilment.applyEvents(conditional)
  } catch (error) {
    if (!(error instanceof AppError) || !UNREADABLE.has(error.status)) throw error
    if (commands.length === 1) return [{ refused: error.code, retry: 'never' }]
    // One event that fulfilment cannot even read must not take its batch mates down with it: halves, until it is alone.
    const middle = commands.length >> 1
    const first = await applyOnce(fulfilment, commands.slice(0, middle))
    return [...first, ...(await applyOnce(fulfilment, commands.slice(middle)))]
  }
}

// Not a valid input, or too large a one.
const UNREADABLE = new Set([400, 413])

/** An order without a version is not there, or deleted: fulfilment says which, so any version will do. */
function expectedVersion(version: number | null | undefined): string {
  return version === null || version === undefined ? '*' : formatEntityTag(version)
}
