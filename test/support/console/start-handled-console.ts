import { randomBytes } from 'node:crypto'
import { type HandlerServer, startHandlerServer } from '@oncehook/gateway/testing/handlers/handler-server'
import { paymentEvent } from '@oncehook/gateway/testing/start-operated-system'
import { expect } from 'vitest'
import { type ConsoleUnderTest, startConsole } from './open-console.ts'

/** A console whose gateway has the handlers `billing` and `search`, which both want every payment. */
export interface HandledConsole extends ConsoleUnderTest {
  /** Answers the calls of `billing` at `/billing`, and those of `search` at `/search`. */
  readonly server: HandlerServer
  /** Delivers a payment of a new order. Resolves to the ids of its tasks, by handler, when all are settled. */
  payForAll(eventId: string): Promise<ReadonlyMap<string, string>>
}

const TASKS = 3
// Each event has another value.
const IN_ORDER = { orderBy: '/id', blockOnDead: true }
const ENDS_AT = '2036-11-26T12:00:00Z'

/** Starts it, with these further settings of its gateway. */
export async function startHandledConsole(settings: Readonly<Record<string, string>> = {}): Promise<HandledConsole> {
  await using resources = new AsyncDisposableStack()
  const server = resources.use(await startHandlerServer())
  const handler = (name: string, wanted: object) => ({
    https: `${server.url}/${name}`,
    secrets: [{ id: '2026-11', value: `whsec_${randomBytes(32).toString('base64')}`, notAfter: ENDS_AT }],
    events: [{ types: ['payment.*'], ...wanted }],
  })
  const HANDLERS = JSON.stringify({
    billing: { ...handler('billing', { provider: 'acme', where: { '/livemode': true } }), ...IN_ORDER },
    search: handler('search', {}),
  })
  const console = resources.use(await startConsole({ HANDLERS, ...settings }))
  const { system } = console
  const owned = resources.move()
  return {
    ...console,
    server,
    async payForAll(eventId) {
      expect(await system.deliver(paymentEvent(eventId, { orderId: await system.order() }))).toBe(200)
      const settled = () => system.events.find({ eventId, state: { $in: ['done', 'dead'] } }).toArray()
      await expect.poll(async () => (await settled()).length).toBe(TASKS)
      return new Map((await settled()).map(({ _id, handler }) => [handler, String(_id)]))
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
