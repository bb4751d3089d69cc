import { hash } from 'node:crypto'
import type { Claim } from '@oncehook/queue/claim/claim'
import type { Refusal } from '@oncehook/queue/dispatch/retry-policy'
import { type EventDocument, eventOf } from '../inbox/event-document.ts'

export interface TaskEvent {
  readonly key: string
  readonly attempt: number
  /** Everything else, as the text of a JSON object. It is the same at every attempt. */
  readonly json: string
}

/**
 * Writes a task for its handler. A body that is JSON is copied as text, so that no number loses digits. Any other body is
 * in `raw`, as base64.
 */
export function writeTaskEvent(
  claim: Claim,
  handler: string,
  { receivedAt, attempt, raw }: { readonly receivedAt: Date; readonly attempt: number; readonly raw: Buffer },
): TaskEvent {
  const { provider } = claim
  const event = eventOf(claim)
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

// A key is also the value of a header, which has visible ASCII characters only. The percent sign is escaped too, so that
// different ids never have the same key. So is the dot: Standard Webhooks signs `<id>.<timestamp>.<body>`, and with a dot
// in the id, one text could be read as that of another id.
const ESCAPED = /[^\x21-\x7e]|[%.]/gu
// With the names of the provider and the handler, a key then has at most 600 bytes.
const MOST_LENGTH = 472

/**
 * The key of a task, the same at every attempt and replay: `<provider>:<event id>:<handler>`. Spaces, percent signs, dots
 * and characters beyond ASCII are percent-encoded as UTF-8. If that becomes too long, the SHA-256 of the id takes its
 * place. The names of providers and handlers contain no colon and no dot, so different tasks have different keys.
 */
export function taskKey({
  provider,
  eventId,
  handler,
}: Pick<EventDocument, 'provider' | 'eventId' | 'handler'>): string {
  const id = eventId.replaceAll(ESCAPED, percentEncode)
  return `${provider}:${id.length > MOST_LENGTH ? hash('sha256', eventId) : id}:${handler}`
}

function percentEncode(character: string): string {
  return character === '.' ? '%2E' : encodeURIComponent(character)
}

export type TaskAnswer = { readonly done: true } | TaskRefusal

export interface TaskRefusal extends Refusal {
  /** The handler, or what is in front of it, is unavailable or busy: this is not about the task. Default: no. */
  readonly isBusy?: true
  /** Present if the call with the task got no answer: whether it broke after it was sent, so that the task may be the cause. */
  readonly broke?: boolean | undefined
}

/** Resolves to the answers in their order. @throws AppError if the call failed: nothing is known about any of the tasks */
export type CallHandler = (tasks: readonly TaskEvent[]) => Promise<readonly TaskAnswer[]>
