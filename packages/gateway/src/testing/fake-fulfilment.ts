import type { AppError } from '@oncehook/kernel/http/errors'
import type { ApplyEvents, ApplyResult } from '../handlers/fulfilment/apply-payments.ts'

/** A command as fulfilment receives it. */
export type ReceivedCommand = Parameters<ApplyEvents>[0][number]

/** A fake fulfilment for the dispatcher: orders with versions, and the faults that a test requests. */
export interface FakeFulfilment {
  readonly applyEvents: ApplyEvents
  /** Order -> version. An order that is missing here is unknown. */
  readonly orders: Map<string, number>
  /** The ids of the events in each `applyEvents` call. */
  readonly calls: string[][]
  /** Events that had an effect, in order. An event that is listed twice was applied twice. */
  readonly applied: string[]
  /** Called before each call is answered. If it throws, its error is the answer. */
  onCall: (commands: readonly ReceivedCommand[]) => Promise<void> | void
  /** Answers one command instead of the usual rules. Null means the usual answer. */
  answer: (command: ReceivedCommand) => ApplyResult | null
}

/** Creates a fake fulfilment that follows the rule of its interface: an event has one effect. */
export function createFakeFulfilment(orders: Iterable<[string, number]> = []): FakeFulfilment {
  const seen = new Map<string, ApplyResult & { outcome: string }>()
  const fake: FakeFulfilment = {
    orders: new Map(orders),
    calls: [],
    applied: [],
    onCall: () => undefined,
    answer: () => null,
    async applyEvents(commands) {
      fake.calls.push(commands.map(({ eventId }) => eventId))
      await fake.onCall(commands)
      return commands.map((command) => fake.answer(command) ?? apply(command))
    },
  }
  const apply = (command: ReceivedCommand): ApplyResult => {
    const before = seen.get(`${command.provider}\n${command.eventId}`)
    if (before !== undefined) return { ...before, outcome: 'duplicate' }
    const version = fake.orders.get(command.orderId)
    if (version === undefined) return { refused: 'order_unknown', retry: 'later' }
    fake.orders.set(command.orderId, version + 1)
    fake.applied.push(command.eventId)
    const result = { outcome: 'applied', version: version + 1 }
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
