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
  /** The whole body. */
  readonly body: Readonly<Record<string, unknown>>
}

/** Reads an event from an authentic body. Returns null if the body is not a JSON object with a type. */
export function readEvent(key: string, bytes: Uint8Array): HandlerEvent | null {
  const body = parseObject(bytes)
  const type = body?.type
  if (body === null || typeof type !== 'string' || type === '') return null
  if (isFromGateway(body)) return { key, type, ...readFromGateway(body), body }
  const { data } = body
  return { key, type, occurredAt: timeOf(body), objectId: idAt(data), data, body }
}

/** What Oncehook's gateway writes around the body of a provider. */
function isFromGateway(body: Record<string, unknown>): boolean {
  return ['key', 'provider', 'eventId', 'receivedAt'].every((name) => typeof body[name] === 'string')
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

function parseObject(bytes: Uint8Array): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function idAt(data: unknown): string | null {
  return (isObject(data) ? idOf(data.object) : null) ?? idOf(data)
}

function idOf(object: unknown): string | null {
  const id = isObject(object) ? object.id : undefined
  if (typeof id === 'number' && Number.isSafeInteger(id)) return String(id)
  return typeof id === 'string' && id !== '' ? id : null
}

/** `timestamp` is the property of Standard Webhooks; OpenAI and Resend have `created_at`, Stripe has `created`. */
function timeOf({ timestamp, created_at, created }: Record<string, unknown>): Date | null {
  const value = timestamp ?? created_at ?? created
  if (typeof value !== 'string' && typeof value !== 'number') return null
  const time = new Date(typeof value === 'number' ? value * 1_000 : value)
  return Number.isNaN(time.getTime()) ? null : time
}
