import { describe, expect, it } from 'vitest'
import { eventInvalid } from '../errors.ts'
import type { WebhookEvent } from '../event.ts'
import { type EventRules, normalizeEvent } from './event-reader.ts'
import type { FoundEvent } from './found-event.ts'
import type { Mapping } from './mapping.ts'

const types = { 'payment.updated.COMPLETED': 'payment.succeeded', charged: 'payment.succeeded' }

function read(
  found: Partial<FoundEvent>,
  settings: { readonly read?: Mapping } & Partial<EventRules> = {},
  document: unknown = {},
): WebhookEvent {
  const values = { id: 'evt_1', type: 'charged', objectId: 'pay_1', ...found }
  return normalizeEvent(values, document, { ...settings, types })
}

function typeOf(found: Partial<FoundEvent>, events: Record<string, string> = {}): string {
  return read(found, { events }).type
}

describe('normalizeEvent', () => {
  describe('with a status', () => {
    const completed = { type: 'payment.updated', status: 'COMPLETED' }
    const failed = { type: 'payment.updated', status: 'FAILED' }

    it('looks up the type with the status, then the type alone', () => {
      expect(typeOf(completed)).toBe('payment.succeeded')
      expect(typeOf({ status: 'NEW' })).toBe('payment.succeeded')
      expect(typeOf(failed, { 'payment.updated.FAILED': 'payment.failed' })).toBe('payment.failed')
      expect(typeOf(failed, { 'payment.updated': 'seen' })).toBe('seen')
    })

    it('prefers the settings to the scheme if both are equally specific', () => {
      expect(typeOf(completed, { 'payment.updated.COMPLETED': 'seen' })).toBe('seen')
      expect(typeOf({}, { charged: 'seen' })).toBe('seen')
    })

    it('lets no mapping of the type alone override the scheme’s mapping of the status', () => {
      expect(typeOf(completed, { 'payment.updated': 'payment.failed' })).toBe('payment.succeeded')
    })

    it('shows it in the name of a type that nothing maps', () => {
      expect(typeOf(failed)).toBe('payment.updated.FAILED')
      expect(typeOf({ type: 'payment.updated' })).toBe('payment.updated')
    })
  })

  it.each([undefined, null, '', { id: 7 }])('allows an event without a payment to name no object: %j', (objectId) => {
    const event = read({ type: 'endpoint.checked', objectId })
    expect(event).toEqual({ id: 'evt_1', type: 'endpoint.checked', facts: { orderId: '' } })
  })

  it.each([
    ['a payment without its object', { objectId: undefined }],
    ['a payment by our own name without its object', { type: 'payment.succeeded', objectId: null }],
    ['no id', { id: undefined }],
    ['a blank id', { id: ' ' }],
    ['no type', { type: undefined }],
    ['a type that is too long', { type: 'x'.repeat(256) }],
    ['a fraction for an id', { id: 1.5 }],
  ])('refuses %s', (_, found) => {
    expect(() => read(found)).toThrow(expect.objectContaining({ code: eventInvalid.code }))
  })
})
