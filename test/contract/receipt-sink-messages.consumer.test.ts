import { MatchersV3 } from '@pact-foundation/pact'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import { compareAtTheEnd } from './consumer-contract.ts'
import { openMessageContract } from './message-contract.ts'

const { integer, regex, string } = MatchersV3
const SECRET = `whsec_${Buffer.from('the secret of this test, 32 byte').toString('base64')}`

const contract = await openMessageContract('receipt-sink', 'fulfilment')
compareAtTheEnd(contract)

const HEADERS = {
  'content-type': 'application/json',
  'idempotency-key': regex('^[\\x21-\\x7e]+$', 'rcpt_1'),
  'webhook-id': regex('^[\\x21-\\x2d\\x2f-\\x7e]+$', 'rcpt_1'),
  'webhook-timestamp': regex('^\\d{10}$', '1764151200'),
}
const SIGNATURE = 'v1,[A-Za-z0-9+/]{43}='
const EXAMPLE = `v1,${'A'.repeat(43)}=`

describe('a service as a receiver of receipts', () => {
  it.each([
    { does: 'a receipt', email: string('customer@example.com') },
    { does: 'a receipt of a customer without an e-mail address', email: null },
    { does: 'a receipt while the secrets change', email: string('customer@example.com'), signatures: 2 },
  ])('verifies $does with the official library, and reads it', async ({ does, email, signatures = 1 }) => {
    const repeat = (text: string) => Array.from({ length: signatures }, () => text).join(' ')
    const headers = { ...HEADERS, 'webhook-signature': regex(`^${repeat(SIGNATURE)}$`, repeat(EXAMPLE)) }
    const content = {
      ...{ key: string('rcpt_1'), orderId: string('ord_1'), paymentId: string('pay_1'), customerId: string('cus_1') },
      ...{ email, amount: integer(1999), currency: regex('^[A-Z]{3}$', 'EUR') },
      paidAt: regex('^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$', '2026-11-21T10:00:00.000Z'),
    }
    await contract.expectMessage({ does, content, headers }, async (message) => {
      const [body, at] = [JSON.stringify(message.content), new Date()]
      const id = message.headers['webhook-id'] ?? ''
      const webhook = new Webhook(SECRET)
      const signed = {
        'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
        'webhook-signature': webhook.sign(id, at, body),
      }
      const read = webhook.verify(body, { ...message.headers, ...signed })
      expect(read).toMatchObject({ key: message.headers['idempotency-key'], amount: 1999, currency: 'EUR' })
    })
  })
})
