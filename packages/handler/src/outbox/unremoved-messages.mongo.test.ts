import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createHandler, type Handler, type LaterFunction, type LogLine, type Store } from '../create-handler.ts'
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
  name = `unremoved_${tests}`
  lines.length = 0
})
afterEach(async () => {
  await Promise.all(opened.splice(0).map((handler) => handler.close()))
})

describe.each(stores.each)('messages on %s that were sent and cannot be removed', (_, under) => {
  it('are removed by a later try, without another attempt', async (context) => {
    const store = under(context)
    const mail = vi.fn<LaterFunction>()
    const remove = failing(store, 2)
    await start(store, mail, remove)
    await expect.poll(() => messagesOf(store)).toEqual([])
    expect(mail).toHaveBeenCalledTimes(1)
    expect(remove).toHaveBeenCalledTimes(3)
    expect(lines).toEqual([])
  })

  it('are neither dead nor sent again by the same process, even after the last attempt', async (context) => {
    const store = under(context)
    const mail = vi.fn<LaterFunction>()
    const remove = failing(store, 4)
    const handler = await start(store, mail, remove)
    await expect
      .poll(() => lines)
      .toMatchObject([
        { level: 'error', message: 'A sent message cannot be removed', name: 'mail', key: `${name}:evt:1`, attempt: 1 },
      ])
    expect(await messagesOf(store)).toMatchObject([{ attempt: 1, dead: false }])
    // As if its lease had ended.
    await store.makeDue()
    await expect.poll(() => messagesOf(store)).toEqual([])
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

/** Starts a handler that sends a message with one attempt, and causes it. */
async function start({ store }: StoreUnderTest, mail: LaterFunction, remove: Outbox['remove']): Promise<Handler> {
  const faulty: Store<never> = { ...store, outbox: { ...store.outbox, remove } }
  const handler = createHandler({
    ...{ name, store: faulty, secrets: SECRET, log: (line) => lines.push(line) },
    on: { 'invoice.paid': (_event, tx) => (tx as { later(name: string): void }).later('mail') },
    later: { mail },
    laterLimits: { pollMs: 50, attempts: 1 },
  })
  opened.push(handler)
  handler.work()
  expect((await handler.fetch(signedRequest({ key: 'evt' }))).status).toBe(200)
  return handler
}

async function messagesOf(store: StoreUnderTest) {
  return (await store.messages()).filter(({ key }) => key.startsWith(`${name}:`))
}
