import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { readWebhookKey } from '@oncehook/kernel/secrets/sign-webhook'
import { systemClock } from '@oncehook/kernel/time/clock'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import { type Receipt, receiptRefused } from '../receipt-sink.ts'
import { createHttpsSink } from './https-sink.ts'

const receipt: Receipt = {
  key: 'rcpt_1',
  orderId: 'o1',
  paymentId: 'p1',
  customerId: 'c1',
  email: 'a@example.com',
  amount: 300,
  currency: 'EUR',
  paidAt: '2026-11-21T10:00:00.000Z',
}

const unsigned = { fetch: globalThis.fetch, clock: systemClock, keys: [] }

/** A receiver that answers with the given statuses in turn and records the requests. */
async function receiver(...statuses: number[]) {
  const taken: { headers: IncomingMessage['headers']; body: string }[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    taken.push({ headers: request.headers, body })
    const status = statuses[taken.length - 1] ?? 200
    response.writeHead(status, status === 302 ? { location: '/elsewhere' } : {}).end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/receipts`)
  const sink = createHttpsSink({ ...unsigned, url })
  return {
    url,
    taken,
    send: (signal = AbortSignal.timeout(2_000)) => sink.send(receipt, signal),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

describe('an https: sink', () => {
  it.each([400, 410, 413, 422])('takes %i for final', async (status) => {
    await using there = await receiver(status)
    await expect(there.send()).rejects.toSatisfy(receiptRefused.is)
  })

  it.each([401, 403, 404, 405, 408, 409, 415, 425, 429, 451, 500, 502])('takes %i for passing', async (status) => {
    await using there = await receiver(status)
    await expect(there.send()).rejects.toMatchObject({ code: `http_${status}` })
  })

  it('has sent a receipt if the status says so, although the connection breaks in the body', async () => {
    const body = new ReadableStream({ start: (controller) => controller.error(new Error('reset')) })
    const fetch = async () => new Response(body)
    const sink = createHttpsSink({ ...unsigned, fetch, url: new URL('https://mail.test/') })
    await sink.send(receipt, AbortSignal.timeout(2_000))
  })

  it('follows no redirect', async () => {
    await using there = await receiver(302)
    await expect(there.send()).rejects.toMatchObject({ code: 'http_302' })
    expect(there.taken).toHaveLength(1)
  })

  it('sends credentials of the address as a header', async () => {
    await using there = await receiver()
    const url = new URL(there.url)
    url.username = 'shop'
    url.password = 'p%40ss'
    await createHttpsSink({ ...unsigned, url }).send(receipt, AbortSignal.timeout(2_000))
    const expected = `Basic ${Buffer.from('shop:p@ss').toString('base64')}`
    expect(there.taken[0]?.headers.authorization).toBe(expected)
  })

  it('signs so that the official library verifies it, also while the receiver changes its secret', async () => {
    await using there = await receiver(500, 200)
    const secrets = [24, 64].map((count) => `whsec_${randomBytes(count).toString('base64')}`)
    const keys = secrets.map(readWebhookKey).filter((key) => key !== null)
    const sink = createHttpsSink({ ...unsigned, url: there.url, keys })
    const signal = AbortSignal.timeout(5_000)
    await expect(sink.send(receipt, signal)).rejects.toMatchObject({ code: 'http_500' })
    await sink.send(receipt, signal)
    expect(there.taken.map(({ headers }) => headers['webhook-id'])).toEqual([receipt.key, receipt.key])
    for (const { body, headers } of there.taken) {
      const given = headers as Record<string, string>
      for (const secret of secrets) expect(new Webhook(secret).verify(body, given)).toEqual(receipt)
      expect(() => new Webhook(secrets[0] ?? '').verify(body.replace('300', '301'), given)).toThrow()
      const stranger = `whsec_${randomBytes(32).toString('base64')}`
      expect(() => new Webhook(stranger).verify(body, given)).toThrow()
    }
  })

  it('ends with its signal', async () => {
    await using there = await receiver()
    await expect(there.send(AbortSignal.abort())).rejects.toThrow()
    expect(there.taken).toHaveLength(0)
  })
})
