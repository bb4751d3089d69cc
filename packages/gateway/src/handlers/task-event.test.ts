import { readWebhookKey, signWebhook } from '@oncehook/kernel/secrets/sign-webhook'
import type { Claim } from '@oncehook/queue/claim/claim'
import { createVerifier } from '@oncehook/webhooks'
import type { WebhookEvent } from '@oncehook/webhooks/providers'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { sampleClaim } from '../testing/sample-claim.ts'
import { taskKey, writeTaskEvent } from './task-event.ts'

const receivedAt = new Date('2026-11-26T10:00:00Z')

function claimOf({ orderId, ...facts }: WebhookEvent['facts']): Claim {
  const record = { type: 'invoice.paid', objectId: 'in_1', orderId, facts }
  return sampleClaim('evt_1', { provider: 'stripe', handler: 'billing' }, record)
}

function write(body: Buffer | string, facts: WebhookEvent['facts'] = { orderId: '' }) {
  const raw = Buffer.from(body as string)
  const { json, ...rest } = writeTaskEvent(claimOf(facts), 'billing', { receivedAt, attempt: 3, raw })
  return { ...rest, json, event: JSON.parse(json) as Record<string, unknown> }
}

describe('writeTaskEvent', () => {
  it('has the order and the time of the event if they are known', () => {
    const { event } = write('{}', { orderId: 'ord_1', occurredAt: '2026-11-26T09:00:00Z' })
    expect(event).toMatchObject({ orderId: 'ord_1', occurredAt: '2026-11-26T09:00:00Z' })
    expect(Object.keys(write('{}').event)).not.toContain('orderId')
  })

  it.each([
    ['a form', 'a=1&b=2'],
    ['bytes that are no UTF-8', Buffer.from([0x22, 0xff, 0x22])],
  ])('puts %s into raw, as base64', (_, body) => {
    const { event } = write(body)
    expect(event.raw).toBe(Buffer.from(body as string).toString('base64'))
    expect(event).not.toHaveProperty('body')
  })
})

const name = fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,62}$/)
const eventId = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 255 }).filter((id) => id.isWellFormed())
const id = fc.record({ provider: name, eventId, handler: name })

const SECRET = `whsec_${Buffer.alloc(32, 1).toString('base64')}`
const verifier = createVerifier({ scheme: 'standard-webhooks', effects: [], secrets: SECRET })

/** What the library of handlers says of a call whose `webhook-id` is this key. */
async function outcomeOf(key: string): Promise<string> {
  const secret = readWebhookKey(SECRET)
  if (secret === null) throw new Error('The secret of the test is invalid')
  const body = '{"type":"invoice.paid"}'
  const headers = signWebhook({ id: key, now: Date.now(), body }, [secret])
  return (await verifier.verify({ rawBody: body, headers })).outcome
}

describe('taskKey', () => {
  it('can be the value of a header, whatever the event id, and has at most 600 bytes', () => {
    expect(taskKey({ provider: 'acme', eventId: '50% é', handler: 'shop' })).toBe('acme:50%25%20%C3%A9:shop')
    fc.assert(
      fc.property(id, (one) => {
        const key = taskKey(one)
        expect(key).toMatch(/^[\x21-\x7e]+$/)
        expect(key.length).toBeLessThanOrEqual(600)
        expect(new Headers({ 'webhook-id': key }).get('webhook-id')).toBe(key)
      }),
    )
  })

  it('is authentic to the library of handlers, whatever the event id', async () => {
    const longest = { provider: 'p'.repeat(63), eventId: 'é'.repeat(78), handler: 'h'.repeat(63) }
    const ids = ['x'.repeat(255), '€'.repeat(50), 'a.'.repeat(100), 'a '.repeat(110), longest.eventId]
    for (const eventId of ids) {
      const key = taskKey({ ...longest, eventId })
      expect([key.length > 255, await outcomeOf(key)]).toEqual([true, 'unreadable'])
    }
    await fc.assert(
      fc.asyncProperty(id, async (one) => {
        expect(await outcomeOf(taskKey(one))).toBe('unreadable')
      }),
    )
  })

  it('has no dot, so that a signed text begins with one key only', () => {
    expect(taskKey({ provider: 'acme', eventId: 'a.1.b', handler: 'shop' })).toBe('acme:a%2E1%2Eb:shop')
    fc.assert(fc.property(id, (one) => !taskKey(one).includes('.')))
  })

  it('differs for different tasks', () => {
    fc.assert(
      fc.property(id, id, (one, other) => {
        const isSame = one.provider === other.provider && one.eventId === other.eventId && one.handler === other.handler
        expect(taskKey(one) === taskKey(other)).toBe(isSame)
      }),
    )
  })
})
