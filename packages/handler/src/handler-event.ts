import { isObject } from '@oncehook/kernel/http/json'
import { decodeText, parseObject, parseObjectStrictly } from './json-text.ts'

/** An event as the functions get it. */
export interface HandlerEvent {
  /** The signed id of the message (`webhook-id`): the same at every delivery of the event. */
  readonly key: string
  readonly type: string
  /** When it happened, according to the sender. Null if the body does not say. */
  readonly occurredAt: Date | null
  /** The id of the object that the event is about. Null if the body has none at `data.object.id` or `data.id`. */
  readonly objectId: string | null
  /**
   * The property `data` of the body, or of the provider's body if Oncehook's gateway is the sender. Of a delivery with several
   * events: this event, as the provider wrote it.
   */
  readonly data: unknown
  /** The whole body. Integers beyond 2^53 - 1 are rounded here and in `data`, but not in `objectId` and `rawBody`. */
  readonly body: Readonly<Record<string, unknown>>
  /** The text of the whole body, as it was sent. */
  readonly rawBody: string
}

/** Reads an event from an authentic body. Returns null if the body is not a JSON object with a type. */
export function readEvent(key: string, bytes: Uint8Array): HandlerEvent | null {
  const rawBody = decodeText(bytes)
  const body = rawBody === null ? null : parseObject(rawBody)
  const type = body?.type
  if (rawBody === null || body === null || typeof type !== 'string' || type === '') return null
  const read = readParts(body)
  if (!LONG_NUMBER.test(rawBody)) return { key, type, ...read, body, rawBody }
  // Bigints cannot be written as JSON again, so the functions do not get them.
  const exact = parseObjectStrictly(bytes, { bigIntegers: true }) ?? body
  return { key, type, ...read, objectId: readParts(exact).objectId, body, rawBody }
}

/** What the integers beyond 2^53 - 1 have in common. */
const LONG_NUMBER = /\d{16}/

function readParts(body: Record<string, unknown>): Pick<HandlerEvent, 'occurredAt' | 'objectId' | 'data'> {
  if (isFromGateway(body)) return readFromGateway(body)
  const { data } = body
  return { occurredAt: timeOf(body), objectId: idAt(data), data }
}

/** What Oncehook's gateway writes around the body of a provider. */
function isFromGateway(body: Record<string, unknown>): boolean {
  return ['key', 'provider', 'eventId', 'receivedAt'].every((name) => typeof body[name] === 'string')
}

/**
 * What is the same whenever an event comes again: of the gateway, the provider's body, which it writes last. What stands before it may
 * change. A gateway that has lost its record has another `receivedAt`, and a new mapping may find another type or object.
 */
export function contentOf({ body, rawBody }: Pick<HandlerEvent, 'body' | 'rawBody'>): string {
  if (!isFromGateway(body)) return rawBody
  for (let at = 1; rawBody[at] === '"'; ) {
    if (rawBody.startsWith('"body":', at) || rawBody.startsWith('"raw":', at)) return rawBody.slice(at)
    const end = endOfText(rawBody, at)
    // Up to the body, the gateway writes texts only, and no spaces.
    if (!rawBody.startsWith(':"', end)) return rawBody
    at = endOfText(rawBody, end + 1) + 1
  }
  return rawBody
}

/** The position after the closing quotation mark of a text. A mark after an odd number of backslashes is part of it. */
export function endOfText(json: string, start: number): number {
  let at = json.indexOf('"', start + 1)
  while (isEscaped(json, at)) at = json.indexOf('"', at + 1)
  return at === -1 ? json.length : at + 1
}

function isEscaped(json: string, at: number): boolean {
  let first = at
  while (json[first - 1] === '\\') first -= 1
  return (at - first) % 2 === 1
}

function readFromGateway(event: Record<string, unknown>): Pick<HandlerEvent, 'occurredAt' | 'objectId' | 'data'> {
  const { pointer, body } = event
  const own = typeof pointer === 'string' ? valueAt(body, pointer) : body
  const inner = isObject(own) ? own : {}
  const data = typeof pointer === 'string' ? own : inner.data
  const known = timeOf({ timestamp: event.occurredAt })
  const objectId = typeof event.objectId === 'string' && event.objectId !== '' ? event.objectId : idAt(data)
  return { occurredAt: known ?? timeOf(inner), objectId, data }
}

/** The value at a JSON Pointer (RFC 6901) of the gateway, whose names have nothing to unescape. */
function valueAt(body: unknown, pointer: string): unknown {
  let value = body
  for (const name of pointer.split('/').slice(1)) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value
}

function idAt(data: unknown): string | null {
  return (isObject(data) ? idOf(data.object) : null) ?? idOf(data)
}

function idOf(object: unknown): string | null {
  const id = isObject(object) ? object.id : undefined
  if (typeof id === 'bigint' || Number.isSafeInteger(id)) return String(id)
  return typeof id === 'string' && id !== '' ? id : null
}

/** `timestamp` is the property of Standard Webhooks; OpenAI and Resend have `created_at`, Stripe has `created`. */
function timeOf({ timestamp, created_at, created }: Record<string, unknown>): Date | null {
  const value = timestamp ?? created_at ?? created
  if (typeof value !== 'string' && typeof value !== 'number') return null
  const isCount = typeof value === 'number' || SINCE_1970.test(value)
  const time = new Date(isCount ? toMilliseconds(Number(value)) : value)
  return Number.isNaN(time.getTime()) ? null : time
}

/** A number as text. One of fewer digits is a year. */
const SINCE_1970 = /^\d{9,}(?:\.\d+)?$/

/** Senders count seconds, milliseconds (Clerk), microseconds or nanoseconds. In any other unit, the year is far from 1973 to 5138. */
function toMilliseconds(count: number): number {
  if (count < 1e11) return count * 1_000
  if (count < 1e14) return count
  return count < 1e17 ? count / 1e3 : count / 1e6
}
