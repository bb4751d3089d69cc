import { sampleRecord } from '@oncehook/gateway/testing/sample-record'
import { startOperatedSystem, TOKENS } from '@oncehook/gateway/testing/start-operated-system'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { ObjectId } from 'mongodb'
import { afterAll, afterEach, expect, it, vi } from 'vitest'
import { createOperatorClient } from '../../packages/console/src/api/operator-client.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
afterEach(() => void vi.unstubAllGlobals())
const database = stack.use(await testDatabase(process.env))
const { gateway, events } = stack.use(await startOperatedSystem(database))

const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/

// Pact waits for the end of an answer, and a stream has none. Here the page's own client reads one of a gateway.
it('the gateway owes to the consumer console the events that change, in a stream', async () => {
  const real = globalThis.fetch
  const there: typeof fetch = (input, init) => real(new URL(String(input), gateway.adminUrl), init)
  vi.stubGlobal('fetch', there)
  const told: unknown[] = []
  const { events: procedures } = createOperatorClient(() => TOKENS.operators.alice)
  const tail = procedures.tail.subscribe({ state: 'dead' }, { onData: ({ data }) => void told.push(data) })
  using _ = { [Symbol.dispose]: () => tail.unsubscribe() }

  await expect.poll(() => told).toMatchObject([{ items: [], counts: [], skipped: 0 }])

  const dead = { _id: new ObjectId(), eventId: 'evt_1', state: 'dead', reason: 'order_unknown' } as const
  await events.insertMany([sampleRecord({ eventId: 'evt_2' }), sampleRecord(dead)])
  const instant = expect.stringMatching(TIME)
  const item = {
    ...{
      id: String(dead._id),
      provider: 'acme',
      eventId: 'evt_1',
      handler: 'fulfilment',
      type: 'of.no.effect',
      orderId: 'ord_1',
    },
    ...{ state: 'dead', reason: 'order_unknown', starts: 1, deliveries: 1, mismatches: 0, test: false },
    ...{ receivedAt: instant, settledAt: instant },
  }
  const changed = { items: [item], counts: [{ count: 1 }], skipped: 0 }
  await expect.poll(() => told.slice(1)).toMatchObject([changed])
})
