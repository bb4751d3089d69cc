import { once } from 'node:events'
import { mkdtempDisposable, readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fulfilmentClient } from '@oncehook/fulfilment/testing/fulfilment-client'
import { startFulfilment } from '@oncehook/fulfilment/testing/start-fulfilment'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, describe, expect, it } from 'vitest'
import { startMailServer } from '../../packages/fulfilment/src/testing/mail-server.ts'
import { demandPart } from './demand-part.ts'
import { CONTENT, payOrder } from './paid-orders.ts'
import { type SentMessage, type SignedMessage, testMessages } from './verify-messages.ts'

const SECRETS = ['the secret of this test, 32 byte', 'its next secret, also of 32 byte'].map(
  (secret) => `whsec_${Buffer.from(secret).toString('base64')}`,
)
const [SECRET = ''] = SECRETS
const WHO =
  'fulfilment breaks what it owes to the consumer receipt-sink (contracts/messages/receipt-sink-fulfilment.json)'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))

/** What was posted for each order, the last at the end, and how to answer. */
const posted = new Map<string, readonly SentMessage[]>()
const answers = new Map<string, readonly number[]>()
const paths = new Set<string | undefined>()
const receiver = createServer(async (request, response) => {
  const headers = Object.entries(request.headers).map(([name, value]): [string, string] => [name, String(value)])
  const body = await text(request)
  paths.add(request.url)
  const { orderId } = JSON.parse(body)
  const all = [...(posted.get(orderId) ?? []), { body, headers: new Headers(headers) }]
  posted.set(orderId, all)
  response.writeHead(answers.get(orderId)?.[all.length - 1] ?? 204, { location: '/elsewhere' }).end()
}).listen(0, '127.0.0.1')
await once(receiver, 'listening')
stack.defer(() => void receiver.close())
stack.defer(() => receiver.closeAllConnections())
const address = `127.0.0.1:${(receiver.address() as AddressInfo).port}/receipts?of=shop`

/** Fulfilment, as it is started, with these settings. */
function start(secrets: readonly string[], sink: object = {}) {
  const settings = { RECEIPT_SINK: `http://shop:p%40ss@${address}`, RECEIPT_SECRET: secrets.join(' '), ...sink }
  return startFulfilment({ uri: database.uri, database: database.name, settings })
}

/** What fulfilment posts after an order was paid. */
async function post(name: string, more: object, secrets = [SECRET]): Promise<SignedMessage> {
  await using fulfilment = await start(secrets)
  await payOrder(fulfilment, name, { ...CONTENT, ...more })
  const attempts = 1 + (answers.get(`ord_${name}`)?.length ?? 0)
  await expect.poll(() => posted.get(`ord_${name}`)).toHaveLength(attempts)
  return { ...(posted.get(`ord_${name}`)?.at(-1) ?? expect.unreachable()), secrets }
}

const EMAIL = { email: 'one@example.com' }

describe('fulfilment as a sender of receipts', () => {
  testMessages('fulfilment', 'receipt-sink-fulfilment', {
    'a receipt': () => post('one', EMAIL),
    'a receipt of a customer without an e-mail address': () => post('none', {}),
    'a receipt while the secrets change': () => post('rotation', EMAIL, SECRETS.toReversed()),
  })

  it('posts the values of the order and its payment, to the address and with the password of the setting', async () => {
    answers.set('ord_values', [503])
    const { body, headers } = await post('values', EMAIL)
    const attempts = posted.get('ord_values')?.map((one) => one.body + one.headers.get('idempotency-key'))
    expect(new Set(attempts).size, `${WHO}: each attempt has the same key and body`).toBe(1)
    const { key, paidAt, ...receipt } = JSON.parse(body)
    const ids = { orderId: 'ord_values', paymentId: 'pay_values', customerId: 'cus_1' }
    demandPart(WHO, receipt, { ...ids, ...EMAIL, amount: 1999, currency: 'EUR' })
    expect(Math.abs(Date.now() - Date.parse(paidAt)), `${WHO}: paidAt is when it was paid`).toBeLessThan(300_000)
    const basic = `Basic ${Buffer.from('shop:p@ss').toString('base64')}`
    const sent = [headers.get('idempotency-key'), headers.get('authorization'), [...paths]]
    expect(sent, WHO).toEqual([key, basic, ['/receipts?of=shop']])
  })

  it('writes into a file, and mails, what it posts to others', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'receipts-'))
    await using mails = await startMailServer()
    const file = join(folder.path, 'receipts.jsonl')
    const order = { ...CONTENT, ...EMAIL }
    // Others in the file are receipts that another test has left owed.
    const line = async () => /^.*"ord_file".*(?=\n)/m.exec(await readFile(file, 'utf8').catch(() => ''))?.[0] ?? ''
    {
      await using fulfilment = await start([SECRET], { RECEIPT_SINK: `file:${file}` })
      await payOrder(fulfilment, 'file', order)
      await expect.poll(line).not.toBe('')
    }
    const who =
      'fulfilment breaks what it owes to the readers of its receipts (docs/reference/settings.md, Receipt sinks)'
    const { key, paidAt, ...receipt } = JSON.parse(await line())
    const ids = { orderId: 'ord_file', paymentId: 'pay_file', customerId: 'cus_1' }
    demandPart(`${who}: a line`, receipt, { ...ids, ...EMAIL, amount: 1999, currency: 'EUR' })
    expect([typeof key, new Date(paidAt).toISOString()], `${who}: a line`).toEqual(['string', paidAt])
    const settings = { RECEIPT_SINK: mails.url.href, RECEIPT_FROM: 'shop@example.com' }
    await using fulfilment = await start([SECRET], settings)
    await payOrder(fulfilment, 'mail', order)
    await expect.poll(() => mails.taken.map(({ to }) => to), { message: who }).toEqual([[EMAIL.email]])
    const { items } = await fulfilmentClient(fulfilment).receipts.list.query({ orderId: 'ord_mail' })
    expect(mails.taken[0]?.mail, `${who}: a mail`).toContain(`Message-ID: <${items[0]?.key}@oncehook>`)
  })

  // Fulfilment tries one that passes again, and asks a person about one that is final.
  it('understands each answer of a receiver', async () => {
    await using fulfilment = await start([SECRET])
    const tried = [301, 302, 303, 307, 308, 401, 403, 404, 405, 408, 409, 415, 425, 429, 451, 500, 502, 503]
    const meanings = Object.fromEntries([
      ...[200, 201, 202, 204].map((status) => [status, 'sent']),
      ...[400, 410, 413, 422].map((status) => [status, 'parked, receipt_refused']),
      ...tried.map((status) => [status, `owed, http_${status}`]),
    ])
    for (const status of Object.keys(meanings)) {
      answers.set(`ord_${status}`, Array(99).fill(Number(status)))
      await payOrder(fulfilment, status)
    }
    const { receipts } = fulfilmentClient(fulfilment)
    const understood = async () => {
      const all = Object.keys(meanings).map(async (status) => {
        const { state, lastError } = (await receipts.list.query({ orderId: `ord_${status}` })).items[0] ?? {}
        // What is being sent again is still owed.
        const shown = state === 'sending' ? 'owed' : state
        return [status, lastError ? `${shown}, ${lastError.code}` : shown] as const
      })
      return Object.fromEntries(await Promise.all(all))
    }
    // An attempt may have got no answer before, if the machine is slow.
    const isMeaning = (text: unknown): boolean => /^sent|^parked|http_/.test(String(text))
    const open = async () => Object.values(await understood()).filter((text) => !isMeaning(text))
    await expect.poll(open, { message: `${WHO}: what its answers mean` }).toEqual([])
    demandPart(`${WHO}: what its answers mean`, await understood(), meanings)
    expect([...paths], `${WHO}: no redirect is followed`).toEqual(['/receipts?of=shop'])
  })
})
