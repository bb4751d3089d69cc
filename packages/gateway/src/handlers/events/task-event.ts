import type { Claim } from '../../inbox/claims/claim.ts'
import { taskKey } from './task-key.ts'

/** A task as it is sent to its handler. */
export interface TaskEvent {
  readonly key: string
  /** How many times it has been claimed, this time included. */
  readonly attempt: number
  /** Everything else, as the text of a JSON object. It is the same at every attempt. */
  readonly json: string
}

/** What the record of a task says besides its claim. */
export interface TaskRecord {
  readonly receivedAt: Date
  readonly attempt: number
  readonly raw: Buffer
}

/**
 * Writes a task for its handler. A body that is JSON is copied as text, so that no number loses digits. Any other body is
 * in `raw`, as base64.
 */
export function writeTaskEvent(claim: Claim, handler: string, { receivedAt, attempt, raw }: TaskRecord): TaskEvent {
  const { provider, event } = claim
  const { orderId, occurredAt, pointer } = event.facts
  const key = taskKey({ provider, eventId: event.id, handler })
  const head = {
    ...{ key, provider, eventId: event.id, type: event.type },
    ...(event.objectId ? { objectId: event.objectId } : {}),
    ...(orderId === '' ? {} : { orderId }),
    ...(occurredAt === undefined ? {} : { occurredAt }),
    receivedAt: receivedAt.toISOString(),
    ...(pointer === undefined ? {} : { pointer }),
  }
  const text = jsonTextOf(raw)
  const body = text === null ? `"raw":"${raw.toString('base64')}"` : `"body":${text}`
  return { key, attempt, json: `${JSON.stringify(head).slice(0, -1)},${body}}` }
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function jsonTextOf(raw: Buffer): string | null {
  try {
    const text = decoder.decode(raw)
    JSON.parse(text)
    return text
  } catch {
    return null
  }
}
