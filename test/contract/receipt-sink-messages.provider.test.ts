import { readWebhookKey } from '@oncehook/kernel/secrets/sign-webhook'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { systemClock } from '@oncehook/kernel/time/clock'
import { describe } from 'vitest'
import { createReceiptSink } from '../../packages/fulfilment/src/receipts/sinks/receipt-sinks.ts'
import { recordMessage, type SentMessage, testMessages } from './verify-messages.ts'

const SECRET = `whsec_${Buffer.from('the secret of this test, 32 byte').toString('base64')}`

/** What fulfilment posts to a sink for a receipt. */
async function post(email: string | null): Promise<SentMessage> {
  const { fetch, message } = recordMessage()
  const key = readWebhookKey(SECRET)
  if (key === null) throw new Error('The secret of a test is invalid')
  const sink = createReceiptSink('https://receipts.test/', {
    ...{ logger: memoryLogger().logger, clock: systemClock, from: undefined, keys: [key], fetch },
  })
  const order = { key: 'rcpt_of_one', orderId: 'ord_one', paymentId: 'pay_one', customerId: 'cus_one', email }
  const receipt = { ...order, amount: 500, currency: 'USD', paidAt: new Date(0).toISOString() }
  await sink.send(receipt, AbortSignal.timeout(10_000))
  return message()
}

describe('fulfilment as a sender of receipts', () => {
  testMessages('fulfilment', 'receipt-sink-fulfilment', SECRET, {
    'a receipt': () => post('one@example.com'),
    'a receipt of a customer without an e-mail address': () => post(null),
  })
})
