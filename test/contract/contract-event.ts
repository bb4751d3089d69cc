import { hash } from 'node:crypto'
import { MatchersV3 } from '@pact-foundation/pact'
import { expect } from 'vitest'
import { HANDLER, TYPE } from './sample-task.ts'
import type { Delivery } from './started-dispatch.ts'

const { regex } = MatchersV3

/** An event of the contracts of handlers: how it is delivered, and the task that the contracts promise. */
export interface ContractEvent {
  readonly delivery: Delivery
  /** All but the attempt. */
  readonly task: Readonly<Record<string, unknown>> & { readonly key: string }
}

const TIME = '2026-11-26T10:00:00.000Z'
const receivedAt = regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/, '2026-11-26T10:00:01.000Z')

/** An event with this id. `keyId`: how the key has the id, if that is not as it is. */
export function contractEvent(eventId: string, { type = TYPE, keyId = eventId } = {}): ContractEvent {
  const objectId = `sub_of_${eventId}`
  const body = { id: eventId, type, timestamp: TIME, data: { object: { id: objectId, plan: 'gold' } } }
  const ids = { key: `stripe:${keyId}:${HANDLER}`, provider: 'stripe', eventId, type, objectId }
  return {
    delivery: { provider: 'stripe', body: JSON.stringify(body) },
    task: { ...ids, occurredAt: TIME, receivedAt, body },
  }
}

/** One whose id must be escaped in the key: a signed id has no dot. */
export const SPACED_EVENT = contractEvent('spaces. 100%', { keyId: 'spaces%2E%20100%25' })

/** Bytes that change if somebody parses and writes them again. */
export const EXACT_DELIVERY: Delivery = {
  provider: 'stripe',
  body: '{ "id": "exact", "type": "a.b", "data": { "object": { "id": "obj_1", "count": 9007199254740993, "share": 1.0, "a": "\\u00e9" } } }',
}

/** What stands before the body of a task: handlers look for its beginning behind texts. */
const TEXTS_ONLY = /\{(?:"attempt":\d+,)?(?:"\w+":"(?:[^"\\]|\\.)*",)+"body":\{ "id": "exact"/

/**
 * Checks that tasks of the exact delivery have all its bytes, behind texts, and the same time: about now.
 * @throws with `who` and what is otherwise
 */
export function demandExact(who: string, calls: readonly { readonly body: string }[]): void {
  for (const { body } of calls) {
    expect(body, `${who}: a task has every byte of its delivery`).toContain(`"body":${EXACT_DELIVERY.body}}`)
    expect(body, `${who}: before the body, a task has texts only`).toMatch(TEXTS_ONLY)
  }
  const times = new Set(calls.map((call) => /"receivedAt":"([^"]+)"/.exec(call.body)?.[1] ?? ''))
  expect(times.size, `${who}: a delivery has one receivedAt`).toBe(1)
  const age = Math.abs(Date.now() - Date.parse([...times].join()))
  expect(age, `${who}: receivedAt is when the delivery came`).toBeLessThan(300_000)
}

/** An event about an object, whose delivery is a form of GitHub. Its id is made of the body. */
export function formEvent(id = 99): ContractEvent {
  const payload = JSON.stringify({ action: 'created', comment: { id, created_at: TIME } })
  const body = `payload=${encodeURIComponent(payload)}`
  const eventId = `sha256:${hash('sha256', body, 'base64url')}`
  const ids = { key: `github:${eventId}:${HANDLER}`, provider: 'github', eventId, type: TYPE, objectId: String(id) }
  const raw = Buffer.from(body).toString('base64')
  return {
    delivery: { provider: 'github', body },
    task: { ...ids, orderId: String(id), occurredAt: TIME, receivedAt, raw },
  }
}

/** A delivery of GoCardless with these events. */
export function severalEvents(...ids: readonly string[]): Delivery {
  const event = { created_at: TIME, resource_type: 'mandates', action: 'cancelled', links: { mandate: 'MD1' } }
  return { provider: 'gocardless', body: JSON.stringify({ events: ids.map((id) => ({ id, ...event })) }) }
}
