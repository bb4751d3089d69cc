import { systemClock } from '@oncehook/kernel/clock'
import { readWebhookKey } from '@oncehook/kernel/sign-webhook'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { describe, expect, it } from 'vitest'
import { createReceiptSink } from '../../packages/fulfilment/src/receipts/sinks/receipt-sinks.ts'
import { messageContractsOf, type SentMessage, verifyMessages } from './verify-messages.ts'

const CONTRACTS = messageContractsOf('fulfilment')

/** What fulfilment posts to a sink for a receipt. */
async function post(email: string | null): Promise<SentMessage> {
  const sent: SentMessage[] = []
  const key = readWebhookKey(`whsec_${Buffer.alloc(32, 1).toString('base64')}`)
  if (key === null) throw new Error('The secret of a test is invalid')
  const sink = createReceiptSink('https://receipts.test/', {
    ...{ logger: memoryLogger().logger, clock: systemClock, from: undefined, keys: [key] },
    async fetch(_, init) {
      sent.push({ body: String(init?.body), headers: new Headers(init?.headers) })
      return new Response(null, { status: 204 })
    },
  })
  const order = { key: 'rcpt_of_one', orderId: 'ord_one', paymentId: 'pay_one', customerId: 'cus_one', email }
  const receipt = { ...order, amount: 500, currency: 'USD', paidAt: new Date(0).toISOString() }
  await sink.send(receipt, { repeated: false, signal: AbortSignal.timeout(10_000) })
  const [message] = sent
  if (message === undefined) throw new Error('Fulfilment posted nothing')
  return message
}

describe('fulfilment as a sender of receipts', () => {
  it('has a contract with sinks', () => {
    expect(CONTRACTS.map(({ name }) => name)).toContain('messages/receipt-sink-fulfilment.json')
  })

  it.each(CONTRACTS)('sends what $name says', async (contract) => {
    await verifyMessages(contract, {
      'a receipt': () => post('one@example.com'),
      'a receipt of a customer without an e-mail address': () => post(null),
    })
  })
})
