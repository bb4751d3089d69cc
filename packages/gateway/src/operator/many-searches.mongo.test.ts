import { randomBytes, randomUUID } from 'node:crypto'
import { connect } from 'node:net'
import { refusalOf } from '@oncehook/fulfilment/testing/fulfilment-client'
import { holdCommands } from '@oncehook/kernel/testing/fail-point'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, describe, expect, it } from 'vitest'
import { paymentEvent, startOperatedSystem } from '../testing/start-operated-system.ts'
import { REFUSALS } from '../webhooks/refusals/refusals.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
// Requests that are not finished end by the test only.
const system = stack.use(await startOperatedSystem(database, { limits: { requestTimeoutMs: 600_000 } }))
const operator = system.operator()

const CALLS = 60
const AT_ONCE = 2
const WAITING = 30
const REFUSED = Array<string>(CALLS - AT_ONCE - WAITING).fill('overloaded')

async function codeOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => 'none',
    async () => String((await refusalOf(call)).reason),
  )
}

/** What a stranger gets who has made up the cookie of a session. */
async function askAsStranger(): Promise<string> {
  const token = `ohs_${randomBytes(32).toString('base64url')}`
  const cookie = `oncehook-session-${new URL(system.gateway.adminUrl).port}=${token}`
  const { body } = await system.call('/operator/me', { headers: { cookie, 'oncehook-session': '*' } })
  return JSON.parse(body).error.data.reason
}

async function inProgress(collection: string): Promise<number> {
  const pipeline = [{ $currentOp: {} }, { $match: { 'command.find': collection } }]
  return (await database.client.db('admin').aggregate(pipeline).toArray()).length
}

describe('a flood of slow calls of one operator or stranger', () => {
  it.each([
    { collection: REFUSALS, finds: 2, call: () => codeOf(operator.refusals.list.query()), refused: REFUSED },
    { collection: 'audit', finds: 2, call: () => codeOf(operator.audit.list.query()), refused: REFUSED },
    { collection: 'operator_sessions', finds: 1, call: askAsStranger, refused: [] },
  ])('holds up no payment, and little of it waits: $collection', async ({ collection, finds, call, refused }) => {
    const eventId = randomUUID()
    const event = paymentEvent(eventId, { orderId: await system.order() })
    const ended: string[] = []
    let calls: Promise<unknown>
    {
      await using _ = await holdCommands(database.uri, 'find', `${database.name}.${collection}`)
      calls = Promise.all(Array.from({ length: CALLS }, async () => ended.push(await call())))
      await expect.poll(() => inProgress(collection)).toBe(finds * AT_ONCE)
      await expect.poll(() => ended).toEqual(refused)
      expect(await system.deliver(event)).toBe(200)
      await system.until(eventId, ({ state }) => state === 'done')
      expect([await inProgress(collection), ended]).toEqual([finds * AT_ONCE, refused])
    }
    await calls
    expect(ended.filter((code) => code === 'overloaded')).toEqual(refused)
  })
})

it('what one operator does not finish sending keeps out only large inputs of the same operator', async () => {
  const { alice } = system.tokens.operators
  const port = Number(new URL(system.gateway.adminUrl).port)
  const lines = [
    ...['POST /operator/overview HTTP/1.1', `Host: 127.0.0.1:${port}`, `Authorization: Bearer ${alice}`],
    ...['Content-Type: application/json', 'Content-Length: 5000', '', '{'],
  ]
  const answers: string[] = []
  const sockets = Array.from({ length: 100 }, () =>
    connect(port, '127.0.0.1')
      .on('data', (data) => answers.push(String(data)))
      .on('error', () => undefined),
  )
  for (const socket of sockets) socket.write(lines.join('\r\n'))
  await expect.poll(() => answers.filter((answer) => answer.includes('"overloaded"'))).toHaveLength(100 - 64)
  for (const name of ['alice', 'bob'] as const) {
    expect(await codeOf(system.operator(name).overview.query())).toBe('none')
  }
  for (const socket of sockets) socket.destroy()
})

it('a flood of sign-ins of one operator waits no longer than a short queue, and leaves the audit log to others', async () => {
  const { alice } = system.tokens.operators
  const codes: string[] = []
  const signIn = async (): Promise<void> => {
    const headers = { 'content-type': 'application/json' }
    const { body } = await system.call('/sign-in', { method: 'POST', headers, body: JSON.stringify({ token: alice }) })
    codes.push(JSON.parse(body).code ?? 'none')
  }
  let signedIn: Promise<unknown>
  {
    await using _ = await holdCommands(database.uri, 'insert', `${database.name}.audit`)
    signedIn = Promise.all(Array.from({ length: CALLS }, signIn))
    await expect.poll(() => codes).toEqual(REFUSED)
  }
  await signedIn
  expect(codes.filter((code) => code === 'none')).toHaveLength(AT_ONCE + WAITING)
})
