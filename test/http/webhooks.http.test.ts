import { randomUUID } from 'node:crypto'
import { afterAll, expect, it } from 'vitest'
import { startHttpSystem } from '../support/http/http-system.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const { call, deliver, delivery } = stack.use(await startHttpSystem())

const anEvent = () => ({ id: `evt_${randomUUID()}`, type: 'customer.created', data: { object: { id: 'cus_1' } } })
const RECEIVED = { status: 200, json: { received: true } }

it('F23 a delivery may come in chunks', async () => {
  const { headers, body, ...rest } = delivery(anEvent())
  const octets = body as Buffer
  const chunks = [octets.subarray(0, 10), octets.subarray(10)].map(
    (part) => `${part.length.toString(16)};ext=1\r\n${part}\r\n`,
  )
  const chunked = { ...headers, 'transfer-encoding': 'Chunked', 'content-length': undefined }
  expect(await call({ ...rest, headers: chunked, body: `${chunks.join('')}0\r\nx-trailer: 1\r\n\r\n` })).toMatchObject(
    RECEIVED,
  )
})

it('F27 a delivery pays no attention to Accept, to conditions and to keys', async () => {
  const headers = { accept: 'text/html', 'if-match': 'x', 'if-none-match': '*', 'idempotency-key': '""' }
  expect(await deliver(anEvent(), headers)).toMatchObject(RECEIVED)
})
