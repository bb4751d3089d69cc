import { createHmac, randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type RunningGateway, startGateway } from '@oncehook/gateway/testing/start-gateway'
import { createHandler } from '@oncehook/handler'
import { type MongoTransaction, mongo } from '@oncehook/handler/mongo'
import { type TestDatabase, testDatabase } from '@oncehook/kernel/testing/test-database'
import { describe, expect, it } from 'vitest'
import { setUpMongo } from '../../packages/handler/src/mongo/set-up-mongo.ts'

const WEBHOOK_SECRET = `whsec_${randomBytes(32).toString('base64')}`
const PROVIDER_SECRET = randomBytes(20).toString('hex')

interface System extends AsyncDisposable {
  readonly gateway: RunningGateway
  /** Whether the function takes too long for an event, by its id. */
  isSlow: (id: string) => boolean
  /** Delivers an event, and returns its id. */
  deliver(name: string): Promise<string>
  record(id: string): Promise<TaskRecord | null>
}

interface TaskRecord {
  readonly eventId: string
  readonly state: string
  readonly attempts: readonly { readonly message: string | null }[]
}

/** A gateway, and behind it `@oncehook/handler` with a function that may take longer than its 300 ms. */
async function start(): Promise<System> {
  await using stack = new AsyncDisposableStack()
  const database = stack.use(await testDatabase(process.env))
  const handler = await createOwnHandler(stack.use(await testDatabase(process.env)), (id) => system.isSlow(id))
  stack.defer(() => handler.close(500))
  const https = `http://127.0.0.1:${await handler.listen(0)}/webhooks`
  const secrets = [{ id: '1', value: WEBHOOK_SECRET }]
  const gateway = stack.use(
    await startGateway({
      database,
      providers: {
        shop: { scheme: 'hmac', header: 'x-signature', effects: [], secrets: [{ id: '1', value: PROVIDER_SECRET }] },
      },
      settings: {
        ...{ RETRY_BASE_MS: '20', RETRY_CAP_MS: '200' },
        HANDLERS: JSON.stringify({ billing: { https, secrets, events: [{ types: ['*'] }] } }),
      },
    }),
  )
  const owned = stack.move()
  const system: System = {
    gateway,
    isSlow: () => false,
    async deliver(name) {
      const id = `evt_${name}_${randomUUID()}`
      const body = JSON.stringify({ id, type: 'invoice.paid', data: { object: { id: 'in_1' } } })
      const signature = createHmac('sha256', PROVIDER_SECRET).update(body).digest('hex')
      const headers = { 'content-type': 'application/json', 'x-signature': signature }
      const { status } = await fetch(`${gateway.url}/api/webhooks/shop`, { method: 'POST', headers, body })
      expect(status).toBe(200)
      return id
    },
    record: (id) => database.db.collection<TaskRecord>('events').findOne({ eventId: id }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
  return system
}

async function createOwnHandler(database: TestDatabase, isSlow: (id: string) => boolean) {
  const url = new URL(database.uri.reveal())
  url.pathname = database.name
  await setUpMongo(url.href)
  return createHandler<MongoTransaction>({
    ...{ name: 'billing', secrets: WEBHOOK_SECRET, store: mongo(database.client, { database: database.name }) },
    ...{ timeoutMs: 300, log: () => undefined },
    on: {
      async '*'({ body }, { signal }) {
        if (isSlow(String(body.eventId))) await sleep(60_000, undefined, { signal }).catch(() => undefined)
      },
    },
  })
}

function unreachableIn({ gateway }: System): number {
  return gateway.logs.filter(({ msg }) => msg === 'handler.unreachable').length
}

describe('a handler with @oncehook/handler', () => {
  it('does not count as unreachable because one event takes too long, even if there is no other', async () => {
    await using system = await start()
    system.isSlow = (id) => id.startsWith('evt_slow')
    const slow = await system.deliver('slow')
    const attempts = async () => (await system.record(slow))?.attempts.length
    await expect.poll(attempts).toBeGreaterThan(3)
    const others = await Promise.all(Array.from({ length: 10 }, () => system.deliver('fast')))
    for (const id of others) await expect.poll(() => system.record(id)).toMatchObject({ state: 'done' })
    expect(await system.record(slow)).toMatchObject({ state: expect.stringMatching(/pending|processing/) })
    expect((await system.record(slow))?.attempts[0]?.message).toBe('The handler answered 500')
    expect(unreachableIn(system)).toBe(0)
    system.isSlow = () => false
    await expect.poll(() => system.record(slow)).toMatchObject({ state: 'done' })
  })

  it('gets one event at a time while all take too long, as with a slow database', async () => {
    await using system = await start()
    system.isSlow = () => true
    const ids = await Promise.all(Array.from({ length: 10 }, () => system.deliver('any')))
    await expect.poll(() => unreachableIn(system)).toBe(1)
    system.isSlow = () => false
    for (const id of ids) await expect.poll(() => system.record(id)).toMatchObject({ state: 'done' })
  })
})
