import { describe, expect, it } from 'vitest'
import { createVerifier } from '../../create-verifier.ts'
import type { WebhookEvent } from '../../event.ts'
import { asVerified, makeProvider, onlyEvent } from '../../testing/make-provider.ts'

const SECRET = 'integration_public_key:integration_private_key'

function providerOf(...secrets: readonly { readonly value: string; readonly notAfter?: string }[]) {
  return makeProvider({ settings: { scheme: 'braintree' }, secrets })
}

function read(kind: string, subject: string): WebhookEvent {
  const xml = `<notification><timestamp type="datetime">2026-01-01T00:00:00Z</timestamp><kind>${kind}</kind><subject>${subject}</subject></notification>`
  const form = { bt_signature: `key|${'0'.repeat(40)}`, bt_payload: Buffer.from(xml).toString('base64') }
  const rawBody = Buffer.from(new URLSearchParams(form).toString())
  const delivery = asVerified({ rawBody, rawHeaders: [], query: '', secretId: 's1' })
  return onlyEvent(providerOf({ value: SECRET }).readEvents(delivery))
}

function transaction(fields: Readonly<Record<string, string>>): string {
  const all = { type: 'sale', 'currency-iso-code': 'EUR', amount: '5.00', ...fields }
  return `<transaction>${Object.entries(all)
    .map(([name, value]) => `<${name}>${value}</${name}>`)
    .join('')}</transaction>`
}

describe('a notification of Braintree', () => {
  const charged = (transactions: readonly string[]): WebhookEvent =>
    read(
      'subscription_charged_successfully',
      `<subscription><id>sub_1</id><transactions type="array">${transactions.join('')}</transactions></subscription>`,
    )

  it('of a subscription is about its newest charge, wherever that stands', () => {
    const first = transaction({ id: 'tx_1', 'created-at': '2025-12-01T00:00:00Z' })
    const second = transaction({ id: 'tx_2', 'created-at': '2026-01-01T00:00:00Z', amount: '7.00' })
    const refund = transaction({ id: 'tx_3', 'created-at': '2026-02-01T00:00:00Z', type: 'credit' })
    const facts = { orderId: 'sub_1', amount: 700, currency: 'EUR', occurredAt: '2026-01-01T00:00:00.000Z' }
    for (const list of [
      [first, second, refund],
      [refund, second, first],
    ]) {
      expect(charged(list)).toMatchObject({ type: 'payment.succeeded', objectId: 'tx_2', facts })
    }
  })

  it('of a subscription without a charge cannot be read', () => {
    expect(charged([]).facts.withheld).toBe('unreadable')
  })

  it('of a refund that was settled pays nothing', () => {
    expect(read('transaction_settled', transaction({ id: 'tx_1', type: 'credit' })).type).toBe('transaction_settled')
    expect(read('transaction_settled', transaction({ id: 'tx_1' })).type).toBe('payment.succeeded')
  })

  it('whose customer has typed the order of somebody else is about the own one', () => {
    const note = '&lt;/note&gt;&lt;order-id&gt;ord_2&lt;/order-id&gt;'
    expect(read('transaction_settled', transaction({ id: 'tx_1', note, 'order-id': 'ord_1' })).facts.orderId).toBe(
      'ord_1',
    )
  })

  it('about something else names that', () => {
    expect(read('dispute_opened', '<dispute><id>d_1</id></dispute>')).toMatchObject({ objectId: 'd_1' })
    expect(
      read('local_payment_completed', '<local-payment><payment-id>p_1</payment-id></local-payment>').objectId,
    ).toBe('p_1')
    expect(read('check', '<check type="boolean">true</check>')).not.toHaveProperty('objectId')
  })
})

describe('a signature of Braintree', () => {
  it('counts wherever it stands among those of the other keys of the account', async () => {
    const payload = 'PG5vdGlmaWNhdGlvbi8+\n'
    // By the library of Braintree.
    const own = 'integration_public_key|10bf71f9a7343c54ee69013cabea1aad72f18f73'
    const others = Array.from({ length: 60 }, (_, at) => `other_${at}|${'0'.repeat(40)}`)
    const form = new URLSearchParams({ bt_signature: [...others, own].join('&'), bt_payload: payload })
    const verifier = createVerifier({ scheme: 'braintree', secrets: SECRET })
    expect(await verifier.verify({ rawBody: String(form), headers: {} })).toMatchObject({ outcome: 'verified' })
  })
})

describe('the check of the URL', () => {
  const CHALLENGE = '20f9f8ed05f77439fe955c977e4c8a53'
  /** By the library of Braintree. */
  const ANSWER = 'integration_public_key|d9b899556c966b3f06945ec21311865d35df3ce4'
  const now = Date.parse('2026-01-01T00:00:00Z')

  it('is answered with the newer secret', () => {
    const old = { value: 'old_key:old_private_key_0123', notAfter: '2027-01-01T00:00:00Z' }
    expect(providerOf(old, { value: SECRET }).answerCheck?.(`bt_challenge=${CHALLENGE}`, now)).toBe(ANSWER)
  })

  it.each([
    '',
    'bt_challenge=',
    `bt_challenge=${CHALLENGE}&bt_challenge=${CHALLENGE}`,
    `bt_challenge=${CHALLENGE}%0A`,
    `bt_challenge=${CHALLENGE.toUpperCase()}`,
    'bt_challenge=PG5vdGlmaWNhdGlvbj4KICAg',
  ])('is refused with %j: nothing that could be a payload is signed', (query) => {
    expect(providerOf({ value: SECRET }).answerCheck?.(query, now)).toBeNull()
  })

  it.each(['public', 'a:short', ':0123456789abcdef', 'public:', 'public:0123456789abcdef:x'])(
    'needs both keys: %s',
    (value) => expect(() => providerOf({ value })).toThrow('is not the public key, a colon and the private key'),
  )
})
