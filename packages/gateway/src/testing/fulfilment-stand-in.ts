import type { AppError } from '@oncehook/kernel/errors'
import type { ApplyResult, PaymentProcedures } from '../dispatch/apply-payments.ts'

/** A command as fulfilment receives it. */
export type ReceivedCommand = Parameters<PaymentProcedures['applyEvents']>[0][number]

/** A fake fulfilment for the dispatcher: orders with versions, and the faults that a test requests. */
export interface FulfilmentStandIn {
  readonly procedures: PaymentProcedures
  /** Order -> version. An order that is missing here is unknown. */
  readonly orders: Map<string, number>
  /** The ids of the events in each `applyEvents` call. */
  readonly calls: string[][]
  /** How many times versions were read. */
  readonly reads: () => number
  /** Events that had an effect, in order. An event that is listed twice was applied twice. */
  readonly applied: string[]
  /** Called before each call is answered. If it throws, its error is the answer. */
  onCall: (commands: readonly ReceivedCommand[]) => Promise<void> | void
  /** Answers one command instead of the usual rules. Null means the usual answer. */
  answer: (command: ReceivedCommand) => ApplyResult | null
}

/**
 * Creates a fake fulfilment that follows the rules of its interface: versions are compared, and an event has one
 * effect.
 */
export function createFulfilmentStandIn(orders: Iterable<[string, number]> = []): FulfilmentStandIn {
  let reads = 0
  const seen = new Map<string, ApplyResult & { outcome: string }>()
  const standIn: FulfilmentStandIn = {
    orders: new Map(orders),
    calls: [],
    reads: () => reads,
    applied: [],
    onCall: () => undefined,
    answer: () => null,
    procedures: {
      versions(orderIds) {
        reads += 1
        return Promise.resolve(new Map(orderIds.map((id) => [id, standIn.orders.get(id) ?? null])))
      },
      async applyEvents(commands) {
        standIn.calls.push(commands.map(({ eventId }) => eventId))
        await standIn.onCall(commands)
        const start = new Map(standIn.orders)
        return commands.map((command) => standIn.answer(command) ?? apply(command, start.get(command.orderId)))
      },
    },
  }
  const apply = (command: ReceivedCommand, version: number | undefined): ApplyResult => {
    const before = seen.get(`${command.provider}\n${command.eventId}`)
    if (before !== undefined) return { ...before, outcome: 'duplicate' }
    if (version === undefined) return { refused: 'order_unknown', retry: 'later' }
    if (command.ifMatch !== `"${version}"`) return { refused: 'precondition_failed', retry: 'now' }
    const next = (standIn.orders.get(command.orderId) ?? 0) + 1
    standIn.orders.set(command.orderId, next)
    standIn.applied.push(command.eventId)
    const result = { outcome: 'applied', version: next }
    seen.set(`${command.provider}\n${command.eventId}`, result)
    return result
  }
  return standIn
}

/** Makes every call fail with this error, until it is called with null. */
export function failWith(standIn: FulfilmentStandIn, error: AppError | null): void {
  standIn.onCall = () => {
    if (error !== null) throw error
  }
}
