import { createHmac } from 'node:crypto'
import type { Confirmed, Provider } from '@oncehook/webhooks/providers'
import { makeProvider } from '@oncehook/webhooks/testing/make-provider'
import { Binary } from 'mongodb'
import { describe, expect, it } from 'vitest'
import type { EventDocument } from '../../inbox/event-document.ts'
import { sampleRecord } from '../../testing/sample-record.ts'
import { remap } from './replay-slice.ts'

const secret = 'the-secret-of-this-test'
const settings = { scheme: 'hmac', header: 'x-signature' }

function recordOf(body: object, signedWith = secret): EventDocument {
  const raw = Buffer.from(JSON.stringify(body))
  const headers = { 'x-signature': createHmac('sha256', signedWith).update(raw).digest('hex') }
  return sampleRecord({ eventId: 'evt_1', raw: new Binary(raw), headers })
}

const body = {
  ...{ id: 'evt_1', type: 'payment.succeeded', ref: 'ord_ref' },
  data: { object: { id: 'pay_1', orderId: 'ord_1', amount: 5, currency: 'eur' } },
}

function read(record: EventDocument, provider: Provider = makeProvider({ settings, secrets: [{ value: secret }] })) {
  return remap(record, { providers: () => new Map([['acme', provider]]), fetch })
}

describe('remap', () => {
  it('reads the contents of a record by the current settings', async () => {
    const members = {
      ...{ type: 'payment.succeeded', objectId: 'pay_1', orderId: 'ord_1', facts: { amount: 5, currency: 'EUR' } },
    }
    expect(await read(recordOf(body))).toEqual({ members })
    const mended = { settings: { ...settings, read: { order: '/ref' } }, secrets: [{ value: secret }] }
    expect(await read(recordOf(body), makeProvider(mended))).toMatchObject({ members: { orderId: 'ord_ref' } })
  })

  it('needs a matching secret, because only authentic bodies are read', async () => {
    expect(await read(recordOf(body, 'a secret that is known no more'))).toEqual({ failure: 'signature_mismatch' })
    const ended = { settings, secrets: [{ value: secret, notAfter: '2020-01-01T00:00:00Z' }] }
    expect(await read(recordOf(body), makeProvider(ended))).toEqual({ failure: 'signature_mismatch' })
    const before = { ...recordOf(body), receivedAt: new Date('2019-01-01T00:00:00Z') }
    expect(await read(before, makeProvider(ended))).toMatchObject({ members: { orderId: 'ord_1' } })
  })

  it('says why if the provider or the body is missing, or if the body contains another event or none', async () => {
    expect(await remap(recordOf(body), { providers: () => new Map(), fetch })).toEqual({ failure: 'provider_unknown' })
    const expired = { ...recordOf(body), raw: new Binary(Buffer.alloc(0)) }
    expect(await read(expired)).toEqual({ failure: 'body_expired' })
    expect(await read(recordOf({ ...body, id: 'evt_2' }))).toEqual({ failure: 'event_missing' })
    expect(await read(recordOf({ ...body, type: 7 }))).toEqual({ failure: 'unreadable' })
  })

  it('gives a record that could not be read its key, and no other one', async () => {
    const unread = { ...recordOf(body), eventId: 'sha256:x', facts: { withheld: 'unreadable' } as const }
    const { members } = (await read(unread)) as { members: Partial<EventDocument> }
    expect(members).toMatchObject({ eventId: 'evt_1', orderId: 'ord_1', facts: { amount: 5, currency: 'EUR' } })
    expect(members.facts).not.toHaveProperty('withheld')
    expect(await read({ ...unread, facts: { ...unread.facts, pointer: '/events/1' } })).toEqual({
      failure: 'event_missing',
    })
  })

  it.each<[string, () => Promise<Confirmed>, object]>([
    [
      'what the provider says, where a signature says too little',
      async () => ({
        event: { id: 'evt_1', type: 'payment.failed', objectId: 'pay_1', facts: { orderId: 'ord_confirmed' } },
      }),
      { members: { type: 'payment.failed', objectId: 'pay_1', orderId: 'ord_confirmed', facts: {} } },
    ],
    [
      'nothing that the provider does not know',
      async () => ({ refused: 'not_confirmed' }),
      { failure: 'not_confirmed' },
    ],
    [
      'nothing that the provider says of another event',
      async () => ({ event: { id: 'evt_9', type: 'x', objectId: 'pay_1', facts: { orderId: 'ord_9' } } }),
      { failure: 'event_missing' },
    ],
    [
      'nothing while the provider cannot be asked',
      async () => {
        throw new Error('The provider is away')
      },
      { failure: 'unavailable' },
    ],
  ])('takes %s', async (_, confirm, expected) => {
    const provider = { ...makeProvider({ settings, secrets: [{ value: secret }] }), confirm }
    expect(await read(recordOf(body), provider)).toEqual(expected)
  })
})
