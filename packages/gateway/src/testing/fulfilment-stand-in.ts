import type { AppError } from '@oncehook/kernel/errors'
import type { ApplyResult, PaymentProcedures } from '../dispatch/apply-payments.ts'

/** A command as it reaches fulfilment. */
export type ReceivedCommand = Parameters<PaymentProcedures['applyEvents']>[0][number]

/** The other side of the dispatcher: orders with versions, and the faults that a test asks for. */
export interface FulfilmentStandIn {
  readonly procedures: PaymentProcedures
  /** Order -> version. An order that is not here is unknown. */
  readonly orders: Map<string, number>
  /** The events of each `applyEvents` call, by their ids. */
  readonly calls: string[][]
  /** How often versions were read. */
  readonly reads: () => number
  /** Events that had an effect, in order; one that stands here twice was applied twice. */
  readonly applied: string[]
  /** Called before each call is answered; what it throws is the answer. */
  onCall: (commands: readonly ReceivedCommand[]) => Promise<void> | void
  /** Answers for one command in place of the usual ones. */
  answer: (command: ReceivedCommand) => ApplyResult | null
}

/** Creates a fulfilment that keeps the rules of its interface: versions are compared, an event has one effect. */
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

/** Makes a fault: every call fails with it until it is called with null. */
export function failWith(standIn: FulfilmentStandIn, error: AppError | null): void {
  standIn.onCall = () => {
    if (error !== null) throw error
  }
}
