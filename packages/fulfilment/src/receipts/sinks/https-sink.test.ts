import { systemClock } from '@oncehook/kernel/time/clock'
import { describe, expect, it } from 'vitest'
import type { Receipt } from '../receipt-sink.ts'
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

/** A sink whose receiver answers this. */
function sinkTo(fetch: typeof globalThis.fetch) {
  return createHttpsSink({ fetch, clock: systemClock, keys: [], url: new URL('https://mail.test/') })
}

// What the answers of a receiver mean is in its contract.
describe('an https: sink', () => {
  it('has sent a receipt if the status says so, although the connection breaks in the body', async () => {
    const body = new ReadableStream({ start: (controller) => controller.error(new Error('reset')) })
    await sinkTo(async () => new Response(body)).send(receipt, AbortSignal.timeout(2_000))
  })

  it('ends with its signal', async () => {
    const asked: unknown[] = []
    const fetch: typeof globalThis.fetch = async (url, init) => {
      init?.signal?.throwIfAborted()
      asked.push(url)
      return new Response()
    }
    await expect(sinkTo(fetch).send(receipt, AbortSignal.abort())).rejects.toThrow()
    expect(asked).toEqual([])
  })
})
