import { createHmac, randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { Secret } from '@oncehook/kernel/secrets/secret'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, describe, expect, it } from 'vitest'
import { startFaultProxy } from '../../../../test/support/stack/fault-proxy.ts'
import { hmacProvider } from '../testing/hmac-provider.ts'
import { startGateway } from '../testing/start-gateway.ts'

const secret = randomBytes(24).toString('hex')
const token = randomBytes(24).toString('hex')

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const mongo = stack.use(await startFaultProxy())
mongo.leadTo(Number(new URL(database.uri.reveal()).port))
/** Accepts every request and answers none. */
const silent = createServer(() => undefined)
await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
stack.defer(() => void silent.close())
stack.defer(() => silent.closeAllConnections())
const silentUrl = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`
const gateway = stack.use(
  await startGateway({
    database: { name: database.name, uri: new Secret(`mongodb://127.0.0.1:${mongo.port}/?directConnection=true`) },
    fulfilmentUrl: silentUrl,
    providers: {
      shop: hmacProvider({ id: 'only', value: secret }),
      mollie: { scheme: 'mollie-classic', fetch: { baseUrl: silentUrl, token } },
    },
    settings: { API_TOKENS: JSON.stringify({ tests: token }) },
  }),
)

const body = '{"id":"evt_1","type":"payment.succeeded","data":{"object":{"id":"pay_1"}}}'
const signature = createHmac('sha256', secret).update(body).digest('hex')
const order = '{"customerId":"cus_1","currency":"EUR","items":[{"sku":"a","quantity":1,"unitAmount":1}]}'
const JSON_TYPE = 'Content-Type: application/json'

interface Sent {
  readonly requestLine: string
  readonly lines: readonly string[]
  readonly body: string
  /** The time from the head to the last octet of the body; if infinite, the last octet is never sent. */
  readonly bodyAt: number
}

/** Sends a request as slowly as it says: the deadline is one of real time. Resolves to the status of the answer, and the milliseconds from the first octet until then. */
async function send(socket: Socket, sent: Sent): Promise<{ status: number; ms: number }> {
  const { requestLine, lines, body: content, bodyAt } = sent
  const host = ['Host: 127.0.0.1', `Content-Length: ${Buffer.byteLength(content)}`]
  const head = [requestLine, ...host, ...lines, '', ''].join('\r\n')
  const begun = performance.now()
  const answered = new Promise<{ status: number; ms: number }>((resolve) => {
    socket.once('data', (chunk: Buffer) =>
      resolve({ status: Number(chunk.toString().split(' ')[1]), ms: performance.now() - begun }),
    )
  })
  socket.write(head + content.slice(0, 1))
  if (Number.isFinite(bodyAt)) {
    await sleep(bodyAt)
    socket.write(content.slice(1))
  }
  return await answered
}

async function opened(): Promise<Socket> {
  const socket = connect({ port: Number(new URL(gateway.url).port), host: '127.0.0.1' })
  socket.on('error', () => undefined)
  await new Promise((resolve) => socket.once('connect', resolve))
  stack.defer(() => void socket.destroy())
  return socket
}

const delivery = {
  requestLine: 'POST /api/webhooks/shop HTTP/1.1',
  lines: [JSON_TYPE, `x-signature: ${signature}`],
  body,
}
const asked = {
  requestLine: 'POST /api/webhooks/mollie HTTP/1.1',
  ...{ lines: ['Content-Type: application/x-www-form-urlencoded'], body: 'id=tr_1' },
}
const put = {
  requestLine: 'PUT /api/orders/ord_1 HTTP/1.1',
  ...{ lines: [JSON_TYPE, `Authorization: Bearer ${token}`], body: order },
}

describe('a request', () => {
  it('is answered 10 s after its headers, whatever it waits for', async () => {
    const reused = await opened()
    expect(await send(reused, { ...delivery, bodyAt: 0 })).toMatchObject({ status: 200 })
    mongo.freeze()
    using loop = monitorEventLoopDelay()
    loop.enable()
    const changed = { ...delivery, ...signed(body.replace('evt_1', 'evt_2')) }
    const answers = await Promise.all([
      opened().then((socket) => send(socket, { ...changed, bodyAt: 8_500 })),
      send(reused, { ...changed, bodyAt: 7_500 }),
      opened().then((socket) => send(socket, { ...delivery, bodyAt: Number.POSITIVE_INFINITY })),
      opened().then((socket) => send(socket, { ...asked, bodyAt: 7_000 })),
      opened().then((socket) => send(socket, { ...put, bodyAt: 4_400 })),
      opened().then((socket) => send(socket, { ...put, bodyAt: Number.POSITIVE_INFINITY })),
    ])
    expect(answers.map(({ status }) => status)).toEqual([500, 500, 408, 500, 503, 408])
    // The gateway runs in this process, so a delay of a busy machine does not count as a wait of a request: that of the last octet,
    // of the gateway's timer, of its answer, and of reading it.
    const lateMs = (4 * loop.max) / 1_000_000
    expect(answers.filter(({ ms }) => ms >= 10_000 + lateMs)).toEqual([])
  })
})

function signed(text: string): { lines: readonly string[]; body: string } {
  const mac = createHmac('sha256', secret).update(text).digest('hex')
  return { lines: [JSON_TYPE, `x-signature: ${mac}`], body: text }
}
