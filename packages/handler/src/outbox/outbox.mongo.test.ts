import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createHandler, type Handler, type LaterFunction, type LaterLimits, type LogLine } from '../create-handler.ts'
import type { ClaimedMessage, Outbox } from '../store.ts'
import { openTestStores } from '../testing/open-test-stores.ts'
import { SECRET, signedRequest } from '../testing/signed-request.ts'
import type { StoreUnderTest } from '../testing/test-stores.ts'

const stores = await openTestStores(process.env)

const opened: Handler[] = []
const lines: LogLine[] = []
let name = ''
let tests = 0
beforeEach(() => {
  tests += 1
  name = `test_${tests}`
  lines.length = 0
})
afterEach(async () => {
  await Promise.all(opened.splice(0).map((handler) => handler.close()))
})

describe.each(stores.each)('messages on %s', (_, under) => {
  it('are sent after the commit, with their key and payload, and removed', async (context) => {
    const store = under(context)
    const mail = vi.fn<LaterFunction>()
    const handler = start(store, mail)
    handler.work()
    await deliver(handler, 'sent_1')
    await expect
      .poll(() => mail.mock.calls.map(([{ signal, ...message }]) => message))
      .toEqual([
        { key: `${name}:sent_1:1`, payload: { to: 'sent_1' }, attempt: 1 },
        { key: `${name}:sent_1:2`, payload: null, attempt: 1 },
      ])
    await expect.poll(() => messagesOf(store, 'sent_1')).toEqual([])
    await expect
      .poll(() => handler.metrics())
      .toContain(`messages_total{handler="${name}",name="mail",result="sent"} 2`)
  })

  it('are tried again with the same key, until they are dead with the reason', async (context) => {
    const store = under(context)
    const mail = vi.fn<LaterFunction>().mockRejectedValue(new Error('The mail server is unavailable'))
    const handler = start(store, mail, { attempts: 3, retryBaseMs: 20 })
    handler.work()
    await deliver(handler, 'dead_1')
    await expect
      .poll(() => messagesOf(store, 'dead_1'))
      .toMatchObject(
        [`${name}:dead_1:1`, `${name}:dead_1:2`].map((key) => ({
          key,
          attempt: 3,
          dead: true,
          reason: 'Error: The mail server is unavailable',
        })),
      )
    const first = mail.mock.calls.map(([message]) => message).filter(({ key }) => key === `${name}:dead_1:1`)
    expect(first.map(({ attempt }) => attempt)).toEqual([1, 2, 3])
    expect(lines.filter(({ message }) => message === 'A message is dead')).toHaveLength(2)
    // Counts are kept for a moment.
    await expect.poll(() => handler.metrics()).toContain(`oncehook_handler_messages_dead{handler="${name}"} 2\n`)
  })

  it('are sent again with the same key after the lease of a worker that died', async (context) => {
    const store = under(context)
    const mail = vi.fn<LaterFunction>()
    const handler = start(store, mail)
    await deliver(handler, 'crash_1')
    const [claimed] = await store.store.outbox.claim({ handler: name, names: ['mail'], most: 1, leaseMs: 300 })
    handler.work()
    await expect
      .poll(() => mail.mock.calls.map(([{ key, attempt }]) => [key, attempt]))
      .toContainEqual([claimed?.key, 2])
  })

  it('cannot be settled by a worker whose lease has ended', async (context) => {
    const store = under(context)
    const { outbox } = store.store
    await deliver(start(store, vi.fn()), 'stale_1')
    const claim = { handler: name, names: ['mail'], most: 1, leaseMs: 1 }
    const [stale] = await outbox.claim({ ...claim, most: 2 })
    // The lease of 1 ms ends, by the clock of the database.
    await sleep(20)
    const current = await outbox.claim({ ...claim, most: 2, leaseMs: 60_000 })
    expect(current.map(({ attempt }) => attempt)).toEqual([2, 2])
    await outbox.remove(stale!)
    await outbox.markDead(stale!, 'stale')
    await outbox.retry(stale!, 0, 'stale')
    expect(await messagesOf(store, 'stale_1')).toMatchObject([
      { attempt: 2, dead: false, reason: null },
      { attempt: 2, dead: false, reason: null },
    ])
    expect(await outbox.claim(claim)).toEqual([])
  })

  it('are dead without another attempt if every process that tried has died', async (context) => {
    const store = under(context)
    const mail = vi.fn<LaterFunction>()
    const handler = start(store, mail, { attempts: 2 })
    await deliver(handler, 'poison_1')
    for (const _ of [1, 2]) {
      await store.store.outbox.claim({ handler: name, names: ['mail'], most: 2, leaseMs: 1 })
      // The lease ends, by the clock of the database.
      await sleep(20)
    }
    handler.work()
    const reason = 'Error: The process ended during the last attempt'
    await expect
      .poll(() => messagesOf(store, 'poison_1'))
      .toMatchObject([
        { dead: true, reason },
        { dead: true, reason },
      ])
    expect(mail).not.toHaveBeenCalled()
  })

  it('are sent once by two workers', async (context) => {
    const store = under(context)
    const mail = vi.fn<LaterFunction>()
    const handlers = [start(store, mail), start(store, mail)]
    for (const handler of handlers) handler.work()
    const keys = Array.from({ length: 30 }, (_, index) => `many_${index}`)
    await Promise.all(keys.map((key, index) => deliver(handlers[index % 2]!, key)))
    await expect.poll(() => messagesOf(store, 'many_')).toEqual([])
    const sent = mail.mock.calls.map(([{ key }]) => key)
    expect(sent.toSorted()).toEqual(keys.flatMap((key) => [`${name}:${key}:1`, `${name}:${key}:2`]).toSorted())
  })

  it('that are being sent end before the handler is closed, or are aborted after the grace', async (context) => {
    const store = under(context)
    const running = Promise.withResolvers<void>()
    const handler = start(store, async ({ key, signal }) => {
      // Ends within the grace; the other never does.
      if (key.endsWith(':1')) return sleep(200)
      running.resolve()
      await sleep(30_000, undefined, { signal })
    })
    handler.work()
    await deliver(handler, 'closed_1')
    await running.promise
    await handler.close(700)
    await expect
      .poll(() => messagesOf(store, 'closed_1'))
      .toMatchObject([{ key: `${name}:closed_1:2`, attempt: 0, dead: false, reason: 'Error: The handler is closing' }])
  })

  it('that are aborted when the handler closes keep their last attempt', async (context) => {
    const store = under(context)
    const running = Promise.withResolvers<void>()
    const handler = start(
      store,
      async ({ signal }) => {
        running.resolve()
        await sleep(30_000, undefined, { signal })
      },
      { attempts: 1 },
    )
    handler.work()
    await deliver(handler, 'last_1')
    await running.promise
    await handler.close(100)
    await expect
      .poll(() => messagesOf(store, 'last_1'))
      .toMatchObject([
        { attempt: 0, dead: false },
        { attempt: 0, dead: false },
      ])
    const mail = vi.fn<LaterFunction>()
    start(store, mail, { attempts: 1 }).work()
    await expect.poll(() => messagesOf(store, 'last_1')).toEqual([])
    expect(mail.mock.calls.map(([{ attempt }]) => attempt)).toEqual([1, 1])
  })
})

describe.each(stores.each)('messages on %s that were sent and cannot be removed', (_, under) => {
  it('are removed by a later try, without another attempt', async (context) => {
    const store = under(context)
    const mail = vi.fn<LaterFunction>()
    const remove = failing(store, 2)
    await startUnremoving(store, mail, remove)
    await expect.poll(() => messagesOf(store, 'evt')).toEqual([])
    expect(mail).toHaveBeenCalledTimes(1)
    expect(remove).toHaveBeenCalledTimes(3)
    expect(lines).toEqual([])
  })

  it('are neither dead nor sent again by the same process, even after the last attempt', async (context) => {
    const store = under(context)
    const mail = vi.fn<LaterFunction>()
    const remove = failing(store, 4)
    const handler = await startUnremoving(store, mail, remove)
    await expect
      .poll(() => lines)
      .toMatchObject([
        { level: 'error', message: 'A sent message cannot be removed', name: 'mail', key: `${name}:evt:1`, attempt: 1 },
      ])
    expect(await messagesOf(store, 'evt')).toMatchObject([{ attempt: 1, dead: false }])
    // As if its lease had ended.
    await store.makeDue()
    await expect.poll(() => messagesOf(store, 'evt')).toEqual([])
    expect(mail).toHaveBeenCalledTimes(1)
    const metrics = await handler.metrics()
    expect(metrics).toContain('name="mail",result="sent"} 1\n')
    expect(metrics).not.toMatch(/result="(?:failed|dead)"/)
  })
})

/** A removal that fails some times. */
function failing({ store }: StoreUnderTest, times: number) {
  const remove = vi.fn<Outbox['remove']>((message: ClaimedMessage) => store.outbox.remove(message))
  for (let failures = 0; failures < times; failures += 1) remove.mockRejectedValueOnce(new Error('No connection'))
  return remove
}

/** A handler that cannot remove what it has sent, with one message of one attempt. */
async function startUnremoving({ store }: StoreUnderTest, mail: LaterFunction, remove: Outbox['remove']) {
  const handler = createHandler({
    ...{ name, store: { ...store, outbox: { ...store.outbox, remove } }, secrets: SECRET },
    on: { 'invoice.paid': (_event, tx) => tx.later('mail') },
    ...{ later: { mail }, laterLimits: { pollMs: 50, attempts: 1 }, log: (line: LogLine) => lines.push(line) },
  })
  opened.push(handler)
  handler.work()
  await deliver(handler, 'evt')
  return handler
}

/** A handler whose function stores two messages. */
function start(store: Pick<StoreUnderTest, 'store'>, mail: LaterFunction, laterLimits: LaterLimits = {}): Handler {
  const handler = createHandler({
    ...{ name, store: store.store, secrets: SECRET, log: (line) => lines.push(line) },
    on: {
      'invoice.paid'({ key }, tx) {
        tx.later('mail', { to: key })
        tx.later('mail')
      },
    },
    later: { mail },
    laterLimits: { pollMs: 50, ...laterLimits },
  })
  opened.push(handler)
  return handler
}

async function deliver(handler: Handler, key: string): Promise<void> {
  const { status } = await handler.fetch(signedRequest({ key }))
  expect(status).toBe(200)
}

async function messagesOf(store: StoreUnderTest, start: string) {
  return (await store.messages()).filter(({ key }) => key.startsWith(`${name}:${start}`))
}
