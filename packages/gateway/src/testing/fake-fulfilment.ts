import type { AppError } from '@oncehook/kernel/http/errors'
import type { ApplyResult, PaymentProcedures } from '../handlers/fulfilment/apply-payments.ts'

/** A command as fulfilment receives it. */
export type ReceivedCommand = Parameters<PaymentProcedures['applyEvents']>[0][number]

/** A fake fulfilment for the dispatcher: orders with versions, and the faults that a test requests. */
export interface FakeFulfilment {
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
export function createFakeFulfilment(orders: Iterable<[string, number]> = []): FakeFulfilment {
  let reads = 0
  const seen = new Map<string, ApplyResult & { outcome: string }>()
  const fake: FakeFulfilment = {
    orders: new Map(orders),
    calls: [],
    reads: () => reads,
    applied: [],
    onCall: () => undefined,
    answer: () => null,
    procedures: {
      versions(orderIds) {
        reads += 1
        return Promise.resolve(new Map(orderIds.map((id) => [id, fake.orders.get(id) ?? null])))
      },
      async applyEvents(commands) {
        fake.calls.push(commands.map(({ eventId }) => eventId))
        await fake.onCall(commands)
        const start = new Map(fake.orders)
        return commands.map((command) => fake.answer(command) ?? apply(command, start.get(command.orderId)))
      },
    },
  }
  const apply = (command: ReceivedCommand, version: number | undefined): ApplyResult => {
    const before = seen.get(`${command.provider}\n${command.eventId}`)
    if (before !== undefined) return { ...before, outcome: 'duplicate' }
    if (version === undefined) return { refused: 'order_unknown', retry: 'later' }
    if (command.ifMatch !== '*' && command.ifMatch !== `"${version}"`)
      return { refused: 'precondition_failed', retry: 'now' }
    const next = (fake.orders.get(command.orderId) ?? 0) + 1
    fake.orders.set(command.orderId, next)
    fake.applied.push(command.eventId)
    const result = { outcome: 'applied', version: next }
    seen.set(`${command.provider}\n${command.eventId}`, result)
    return result
  }
  return fake
}

/** Makes every call fail with this error, until it is called with null. */
export function failWith(fake: FakeFulfilment, error: AppError | null): void {
  fake.onCall = () => {
    if (error !== null) throw error
  }
}
