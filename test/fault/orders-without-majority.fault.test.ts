import { describe, expect, it } from 'vitest'
import { adminCommand, startReplicaSet } from '../support/mongod/mongod-under-test.ts'
import { type Stack, startStack } from '../support/stack/stack.ts'
import { until } from '../support/until.ts'

const IN_TIME_MS = 10_000
// The primary must not step down without the majority, or it would refuse all writes immediately.
const ELECTION_TIMEOUT_MS = 120_000

const JSON_TYPE = { 'content-type': 'application/json' }

/** Starts three nodes whose primary stays primary without the others, and a stack on them. */
async function startOnPatientNodes(resources: AsyncDisposableStack) {
  const set = resources.use(await startReplicaSet(3))
  // A set can be configured again once a majority has its first configuration.
  await set.untilWhole()
  const primary = await set.primary()
  const { config } = (await adminCommand(primary.port, { replSetGetConfig: 1 })) as { config: ReplicaSetConfig }
  const settings = { ...config.settings, electionTimeoutMillis: ELECTION_TIMEOUT_MS }
  await adminCommand(primary.port, { replSetReconfig: { ...config, version: config.version + 1, settings } })
  const others = set.nodes.filter((node) => node !== primary)
  const stack = resources.use(await startStack({ mongoUri: set.uri }))
  const startOthers = async (): Promise<void> => {
    await Promise.all(others.filter(({ alive }) => !alive).map((node) => node.start()))
  }
  resources.defer(startOthers)
  return {
    stack,
    // Kill, do not freeze: data in the socket of a frozen node would reach it later, and nothing would be rolled back.
    takeMajorityAway: () => Promise.all(others.map((node) => node.kill('SIGKILL'))),
    /** The primary dies with all data that only it has. One of the others replaces it. */
    async loseThePrimary(): Promise<void> {
      await primary.kill('SIGKILL')
      await startOthers()
      // Instead of the long election timeout, a node is asked to run for election until it wins.
      const standForElection = () => adminCommand(others[0]?.port ?? 0, { replSetStepUp: 1 })
      await until(
        () => standForElection().then(isOk, () => false),
        (won) => won,
      )
      await set.primary()
    },
  }
}

function isOk({ ok }: Record<string, unknown>): boolean {
  return ok === 1
}

interface ReplicaSetConfig {
  readonly version: number
  readonly settings: object
}

function write(stack: Stack, id: string, { method, note, ifMatch }: Write): Promise<{ status: number }> {
  const order = { customerId: 'c', currency: 'EUR', items: [{ sku: 's', quantity: 1, unitAmount: 100 }] }
  const body = method === 'PATCH' ? { note } : { ...order, note }
  return stack.orders.send(`/${id}`, {
    method,
    headers: { ...JSON_TYPE, ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }) },
    ...(method === 'DELETE' ? {} : { body: JSON.stringify(body) }),
  })
}

interface Write {
  readonly method: 'PUT' | 'PATCH' | 'DELETE'
  readonly note?: string
  readonly ifMatch?: string
}

describe('orders without a majority of the database', () => {
  it('bases no answer on a write that can be rolled back: 503 each time, old reads, one content for an ETag', async () => {
    await using resources = new AsyncDisposableStack()
    const { stack, takeMajorityAway, loseThePrimary } = await startOnPatientNodes(resources)
    const put = (id: string, note: string) => write(stack, id, { method: 'PUT', note })
    for (const id of ['changed', 'patched', 'deleted']) expect((await put(id, 'first')).status).toBe(201)

    await takeMajorityAway()
    const attempts = [
      () => put('made', 'first'),
      () => put('changed', 'second'),
      () => write(stack, 'patched', { method: 'PATCH', note: 'second', ifMatch: '"1"' }),
      () => write(stack, 'deleted', { method: 'DELETE' }),
    ]
    for (const time of ['first', 'again', 'once more']) {
      const startedAt = performance.now()
      const answers = await Promise.all(attempts.map((attempt) => attempt()))
      expect(
        answers.map(({ status }) => status),
        `what is answered ${time}`,
      ).toEqual([503, 503, 503, 503])
      expect(performance.now() - startedAt, `milliseconds, ${time}`).toBeLessThan(IN_TIME_MS)
    }
    const readable = async (): Promise<unknown> => {
      const { status, etag, body } = await stack.orders.send('/changed')
      return { status, etag, note: (body as { note?: string }).note }
    }
    const durable = { status: 200, etag: '"1"', note: 'first' }
    expect(await readable()).toEqual(durable)
    expect((await stack.orders.send('/made')).status).toBe(404)
    expect((await stack.orders.send('/deleted')).status).toBe(200)
    const { body } = await stack.orders.send('?limit=10')
    const listed = (body as { items: { id: string; version: number; note: string }[] }).items
    expect(listed.map(({ id, version, note }) => ({ id, version, note }))).toEqual(
      ['deleted', 'patched', 'changed'].map((id) => ({ id, version: 1, note: 'first' })),
    )

    await loseThePrimary()
    await until(readable, (found) => (found as { status: number }).status === 200)
    expect(await readable()).toEqual(durable)
    expect((await stack.orders.send('/deleted')).status).toBe(200)
    expect((await put('made', 'first')).status).toBe(201)
    expect((await put('changed', 'second')).status).toBe(200)
    expect((await write(stack, 'deleted', { method: 'DELETE' })).status).toBe(204)
  })
})
