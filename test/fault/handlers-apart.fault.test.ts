import { describe, expect, it } from 'vitest'
import { stablePort } from '../../scripts/ports/stable-port.ts'
import { startAnsweringHandler } from '../support/handler/answering-handler.ts'
import { createOrders } from '../support/load/mixed-load.ts'
import { callOperator } from '../support/stack/operator-call.ts'
import { paymentOf, type Stack, startStack } from '../support/stack/stack.ts'
import { until, untilEqual } from '../support/until.ts'

const EVENTS = 200
const SENDERS = 10
const NAMES = ['one', 'two', 'three', 'four', 'five']
const WANTED = { events: [{ provider: 'acme', types: ['payment.succeeded'] }] }

describe('FP-43: handlers of the same events', () => {
  it('do not wait for one that refuses them: four are done, one is dead, and a replay concerns that one only', async () => {
    await using handlers = new AsyncDisposableStack()
    const started = await Promise.all(NAMES.map(async () => handlers.use(await startAnsweringHandler())))
    const settings = Object.fromEntries(NAMES.map((name, index) => [name, { ...started[index]?.settings, ...WANTED }]))
    await using stack = await startStack({ gateway: { HANDLERS: JSON.stringify(settings) } })
    const failing = started.at(-1) ?? expect.unreachable()
    failing.answer = (response) => void response.writeHead(422).end()
    await deliver(stack, EVENTS)
    await untilEqual(() => statesOf(stack), { done: 4 * EVENTS, dead: EVENTS })
    expect(await stack.events.countDocuments({ handler: 'five', state: 'dead' })).toBe(EVENTS)

    failing.answer = (response) => void response.writeHead(204).end()
    const filter = { handler: 'five', state: 'dead' }
    await callOperator(stack, 'events.replay', { filter, reason: 'it is repaired' })
    await untilEqual(() => statesOf(stack), { done: 5 * EVENTS })
    for (const { calls } of started.slice(0, -1)) expect(new Set(calls.values())).toEqual(new Set([1]))
    expect([failing.calls.size, new Set(failing.calls.values())]).toEqual([EVENTS, new Set([2])])
  })

  it('do not wait for one that is dead and one that never answers', async () => {
    await using handlers = new AsyncDisposableStack()
    const healthy = handlers.use(await startAnsweringHandler())
    const slow = handlers.use(await startAnsweringHandler())
    slow.answer = () => undefined
    const nobody = { ...slow.settings, https: `http://127.0.0.1:${await stablePort()}/webhooks` }
    const settings = {
      healthy: { ...healthy.settings, ...WANTED },
      slow: { ...slow.settings, ...WANTED, timeoutMs: 60_000 },
      dead: { ...nobody, ...WANTED },
    }
    await using stack = await startStack({ gateway: { HANDLERS: JSON.stringify(settings) } })
    await deliver(stack, EVENTS)
    await until(
      () => stack.events.countDocuments({ handler: 'healthy', state: 'done' }),
      (count) => count === EVENTS,
    )
    expect([healthy.calls.size, new Set(healthy.calls.values())]).toEqual([EVENTS, new Set([1])])
    // The others still have everything before them: what the healthy one did, it did beside them.
    expect(await stack.events.countDocuments({ handler: { $in: ['slow', 'dead'] }, state: 'done' })).toBe(0)
  })
})

/** Delivers payments of the provider acme, each until it is answered 200. */
async function deliver(stack: Stack, count: number): Promise<void> {
  const waiting = (await createOrders(stack, count)).map((order) => paymentOf(order))
  const deliverNext = async (): Promise<void> => {
    for (let event = waiting.pop(); event !== undefined; event = waiting.pop()) {
      const { status } = await stack.deliver(event)
      if (status !== 200) waiting.push(event)
    }
  }
  await Promise.all(Array.from({ length: SENDERS }, deliverNext))
}

/** State -> how many tasks of handlers are in it. */
async function statesOf({ events }: Stack): Promise<Record<string, number>> {
  const counted = events.aggregate<{ _id: string; count: number }>([
    { $match: { handler: { $in: NAMES } } },
    { $group: { _id: '$state', count: { $sum: 1 } } },
  ])
  return Object.fromEntries((await counted.toArray()).map(({ _id, count }) => [_id, count]))
}
