import { randomUUID } from 'node:crypto'
import { type OperatedSystem, paymentEvent } from '@oncehook/gateway/testing/start-operated-system'
import type { CliContext } from '../command.ts'
import { runCommand } from './run-command.ts'

/** Commands about the events of a system, run by one of its operators. */
export function operateEvents(system: OperatedSystem) {
  const { alice: operatorToken } = system.tokens.operators
  const run = (args: readonly string[], overrides: Partial<CliContext> = {}) =>
    runCommand([...args, '--admin-url', system.gateway.adminUrl], { operatorToken, ...overrides })
  return {
    operatorToken,
    run,
    async runJson(args: readonly string[]): Promise<{ exitCode: number; document: Record<string, unknown> }> {
      const { exitCode, stdout } = await run([...args, '--json'])
      return { exitCode, document: JSON.parse(stdout) as Record<string, unknown> }
    },
    /** Delivers a payment of the wrong amount and waits until it is dead. */
    async deadEvent(): Promise<{ id: string; eventId: string; orderId: string }> {
      const eventId = `evt_${randomUUID()}`
      const orderId = await system.order()
      await system.deliver(paymentEvent(eventId, { orderId, amount: 600 }))
      const { _id } = await system.until(eventId, ({ state }) => state === 'dead')
      return { id: String(_id), eventId, orderId }
    },
  }
}
