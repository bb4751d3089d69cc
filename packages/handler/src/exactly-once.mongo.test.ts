import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import {
  createHandler,
  type Handler,
  type HandlerEvent,
  type HandlerOptions,
  type LogLine,
  Refusal,
} from './create-handler.ts'
import type { LaterTransaction } from './store.ts'
import { openTestStores } from './testing/open-test-stores.ts'
import { SECRET, type Sent, signedRequest } from './testing/signed-request.ts'
import type { StoreUnderTest } from './testing/test-stores.ts'

const stores = await openTestStores(process.env)

const opened: Handler[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((handler) => handler.close()))
})

interface Sending {
  readonly handler: Handler
  readonly lines: LogLine[]
  send(sent: Sent): Promise<readonly [status: number, body: Record<string, unknown>, retryAfter: string | null]>
}

describe.each(stores.each)('a handler on %s', (_, under) => {
  it('has the effect of an event once, and answers a repetition with the stored result', async (context) => {
    const store = under(context)
    const { send } = start(store)
    expect(await send({ key: 'once_1' })).toEqual([200, { outcome: 'done', repeated: false }, null])
    expect(await send({ key: 'once_1' })).toEqual([200, { outcome: 'done', repeated: true }, null])
    expect((await store.effects()).once_1).toBe(1)
  })

  it('has one effect of a hundred copies at once, through two handlers', async (context) => {
    const store = under(context)
    const handlers = [start(store, { waitMs: 60_000 }), start(store, { waitMs: 60_000 })]
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, index) => handlers[index % 2]!.send({ key: 'copies_1' })),
    )
    expect(answers.map(([status]) => status)).toEqual(answers.map(() => 200))
    expect(answers.filter(([, { repeated }]) => repeated === false)).toHaveLength(1)
    expect((await store.effects()).copies_1).toBe(1)
  })

  it('refuses a key that comes again with another body', async (context) => {
    const store = under(context)
    const { send, lines } = start(store)
    await send({ key: 'other_1', data: { id: 'a' } })
    const [status, body] = await send({ key: 'other_1', data: { id: 'b' } })
    expect([status, body.error, body.retry]).toEqual([422, 'key_conflict', 'never'])
    expect(lines).toMatchObject([{ level: 'error', key: 'other_1', message: 'A key came again with another body' }])
    expect((await store.effects()).other_1).toBe(1)
  })

  it('keeps nothing of a function that fails, and runs it again', async (context) => {
    const store = under(context)
    let fails = true
    const { send } = start(store, {
      async on({ key }, tx) {
        await store.apply(tx, key)
        tx.later('mail', { key })
        if (fails) throw new Error('A bug')
      },
    })
    const [status, body] = await send({ key: 'fails_1' })
    expect([status, body.error, body.retry, body.message]).toEqual([500, 'failed', 'later', 'The event failed'])
    expect((await store.effects()).fails_1).toBeUndefined()
    expect((await store.outcomes()).fails_1).toBeUndefined()
    expect(await messagesOf(store, 'fails_1')).toEqual([])
    fails = false
    expect(await send({ key: 'fails_1' })).toMatchObject([200, { outcome: 'done', repeated: false }, null])
    expect((await store.effects()).fails_1).toBe(1)
    expect(await messagesOf(store, 'fails_1')).toMatchObject([{ key: 'test:fails_1:1', attempt: 0, dead: false }])
  })

  it.for([
    ['now', 409, '0'],
    ['later', 409, '7'],
    ['never', 422, null],
  ] as const)('answers the refusal %s with %i, and keeps nothing', async ([retry, status, retryAfter], context) => {
    const store = under(context)
    const { send } = start(store, {
      async on({ key }, tx) {
        await store.apply(tx, key)
        throw new Refusal(retry, 'The subscription is unknown', { afterSeconds: 7 })
      },
    })
    const key = `refused_${retry}`
    const body = { error: 'refused', message: 'The subscription is unknown', retry }
    expect(await send({ key })).toEqual([status, body, retryAfter])
    expect((await store.effects())[key]).toBeUndefined()
    expect((await store.outcomes())[key]).toBeUndefined()
  })

  it('records an event without a function, which has its effect when there is one', async (context) => {
    const store = under(context)
    const before = start(store)
    const sent = { key: 'unhandled_1', type: 'invoice.voided' }
    expect(await before.send(sent)).toMatchObject([200, { outcome: 'unhandled', repeated: false }, null])
    expect(await before.send(sent)).toMatchObject([200, { outcome: 'unhandled', repeated: true }, null])
    expect((await store.outcomes()).unhandled_1).toBe('unhandled')
    const after = start(store, { types: ['invoice.*'] })
    expect(await after.send(sent)).toMatchObject([200, { outcome: 'done', repeated: false }, null])
    expect(await after.send(sent)).toMatchObject([200, { outcome: 'done', repeated: true }, null])
    expect((await store.effects()).unhandled_1).toBe(1)
  })

  it('lets an unhandled event come again with another body, as after a change of its mapping', async (context) => {
    const store = under(context)
    const before = start(store)
    const key = 'unhandled_3'
    await before.send({ key, type: 'foo' })
    expect(await before.send({ key, type: 'bar' })).toMatchObject([200, { outcome: 'unhandled', repeated: true }, null])
    const { send } = start(store)
    expect(await send({ key })).toMatchObject([200, { outcome: 'done', repeated: false }, null])
    expect(await send({ key })).toMatchObject([200, { outcome: 'done', repeated: true }, null])
    for (const type of ['foo', 'invoice.paid']) {
      expect(await send({ key, type, data: { id: 'b' } })).toMatchObject([422, { error: 'key_conflict' }, null])
    }
    expect((await store.effects())[key]).toBe(1)
  })

  it('gives the messages of each name different keys, and shortens long ones', async (context) => {
    const store = under(context)
    const long = { name: 'n'.repeat(100), key: `names_${'2'.repeat(150)}` }
    for (const { name, key } of [{ name: 'billing', key: 'names_2' }, { name: 'shipping', key: 'names_2' }, long]) {
      expect((await start(store, { name, on: (_, tx) => tx.later('mail') }).send({ key }))[0]).toBe(200)
    }
    const digest = createHash('sha256').update(`${long.name}:${long.key}:1`).digest('hex')
    const keys = (await store.messages()).map(({ key }) => key)
    expect(keys).toEqual(expect.arrayContaining(['billing:names_2:1', 'shipping:names_2:1', digest]))
  })

  it('rolls back a function that takes too long, and answers 500', async (context) => {
    const store = under(context)
    const aborted: boolean[] = []
    const { send } = start(store, {
      timeoutMs: 1_500,
      async on({ key }, tx) {
        await store.apply(tx, key)
        await sleep(8_000, undefined, { signal: tx.signal }).catch(() => aborted.push(true))
        await store.apply(tx, key)
      },
    })
    const [status, body, retryAfter] = await send({ key: 'late_1' })
    expect([status, body.error, retryAfter]).toEqual([500, 'timed_out', null])
    expect(aborted).toEqual([true])
    expect(await store.effects()).not.toHaveProperty('late_1')
  })

  it('answers 503 from the third event in a row that takes too long, until a function ends in time', async (context) => {
    const store = under(context)
    let isSlow = true
    const { send } = start(store, {
      timeoutMs: 300,
      on: (_, { signal }) => (isSlow ? sleep(8_000, undefined, { signal }).catch(() => undefined) : undefined),
    })
    const statusOf = async (key: string) => {
      const [status, { error }, retryAfter] = await send({ key })
      return [status, error, retryAfter]
    }
    const ownFault = [500, 'timed_out', null]
    expect(await statusOf('slow_1')).toEqual(ownFault)
    expect(await statusOf('slow_1')).toEqual(ownFault)
    expect(await statusOf('slow_2')).toEqual(ownFault)
    expect(await statusOf('slow_3')).toEqual([503, 'timed_out', '5'])
    isSlow = false
    expect(await statusOf('slow_3')).toEqual([200, undefined, null])
    isSlow = true
    expect(await statusOf('slow_4')).toEqual(ownFault)
  })

  it('answers 409 while another delivery of the event takes longer than the wait', async (context) => {
    const store = under(context)
    const { promise, resolve } = Promise.withResolvers<void>()
    const started = Promise.withResolvers<void>()
    const { send } = start(store, {
      async on({ key }, tx) {
        await store.apply(tx, key)
        started.resolve()
        await promise
      },
    })
    const hasty = start(store, { waitMs: 300 })
    const first = send({ key: 'busy_1' })
    await started.promise
    let [status, body, retryAfter] = await hasty.send({ key: 'busy_1' })
    // The database of a busy machine may not answer within the wait.
    while (status === 503) [status, body, retryAfter] = await hasty.send({ key: 'busy_1' })
    expect([status, body.error, retryAfter]).toEqual([409, 'busy', '1'])
    resolve()
    expect(await first).toMatchObject([200, { repeated: false }, null])
    expect((await store.effects()).busy_1).toBe(1)
  })

  it('refuses a message without a function, and payloads that are not JSON', async (context) => {
    const store = under(context)
    for (const [key, call] of [
      ['later_1', (tx: LaterTransaction) => tx.later('nobody')],
      ['later_2', (tx: LaterTransaction) => tx.later('mail', () => 1)],
      ['later_3', (tx: LaterTransaction) => tx.later('mail', 'x'.repeat(262_144))],
    ] as const) {
      const { send, lines } = start(store, { on: (_, tx) => call(tx) })
      expect((await send({ key }))[0]).toBe(500)
      expect(lines).toMatchObject([{ level: 'error', error: expect.any(TypeError) }])
    }
  })
})

describe('a handler on PostgreSQL', () => {
  const under = stores.onPostgres

  it('removes keys that have expired', async (context) => {
    const store = under(context)
    const { send, handler } = start(store)
    await send({ key: 'expired_1' })
    await store.expireKeys()
    handler.work()
    await expect.poll(async () => Object.keys(await store.outcomes())).toEqual([])
  })
})

interface StartOptions
  extends Pick<
    Partial<HandlerOptions<never>>,
    'name' | 'unhandled' | 'timeoutMs' | 'waitMs' | 'concurrency' | 'mostWaiting'
  > {
  readonly on?: (event: HandlerEvent, tx: LaterTransaction) => unknown
  readonly types?: readonly string[]
}

/** A handler whose function causes the effect of the store. No worker runs. */
function start(store: StoreUnderTest, { on, types = ['invoice.paid'], ...options }: StartOptions = {}): Sending {
  const lines: LogLine[] = []
  const act = on ?? (({ key }: HandlerEvent, tx: LaterTransaction) => store.apply(tx, key))
  const handler = createHandler({
    ...{ name: 'test', waitMs: 30_000, ...options, store: store.store, secrets: SECRET },
    on: Object.fromEntries(types.map((type) => [type, act])),
    later: { mail: () => undefined },
    log: (line) => lines.push(line),
  })
  opened.push(handler)
  return {
    handler,
    lines,
    async send(sent) {
      const response = await handler.fetch(signedRequest(sent))
      return [response.status, (await response.json()) as Record<string, unknown>, response.headers.get('retry-after')]
    },
  }
}

async function messagesOf(store: StoreUnderTest, key: string) {
  return (await store.messages()).filter((message) => message.key.startsWith(`test:${key}:`))
}
