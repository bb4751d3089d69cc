import { resolvePointer, type WebhookEvent } from '@oncehook/webhooks/providers'
import { lineOf, type TaskWish } from '../../inbox/lines/line.ts'
import type { HandlerSettings, WantedEvents } from '../settings/read-handlers.ts'

/** An event, as far as it decides which handlers want it. */
export interface OfferedEvent {
  readonly provider: string
  readonly event: Pick<WebhookEvent, 'type' | 'facts'>
  readonly rawBody: Uint8Array
}

/** Returns the handlers that want an event, in the order of the setting. */
export type FindWanting = (offered: OfferedEvent) => readonly TaskWish[]

/** A handler, as far as it decides which events it wants, and in which lines their tasks are. */
export type WantingHandler = Pick<HandlerSettings, 'name' | 'events' | 'orderBy'>

const NOBODY: readonly TaskWish[] = []

/**
 * Prepares the search for the handlers that want an event. An event that does not meet `expect` of its provider, such
 * as one of the test mode, is for nobody.
 */
export function prepareWanting(handlers: ReadonlyMap<string, WantingHandler>): FindWanting {
  const candidates = [...handlers.values()]
  return (offered) => {
    if (candidates.length === 0 || offered.event.facts.withheld === 'not_expected') return NOBODY
    const body = new LazyBody(offered.rawBody)
    const wanting = candidates.filter((handler) => wants(handler, offered, body))
    return wanting.length === 0 ? NOBODY : wanting.map((handler) => toWish(handler, body))
  }
}

/** Why an entry of `events` leaves an event out: the first property that differs. */
export type Mismatch =
  | { readonly differs: 'provider' | 'types' }
  /** `pointer`: the place in the body. */
  | { readonly differs: 'where'; readonly pointer: string }

/** Why a handler does not want an event: for each entry of its `events`, in their order. Null if it wants the event. */
export function findMismatches(
  events: HandlerSettings['events'],
  offered: Omit<OfferedEvent, 'event'> & { readonly event: Pick<WebhookEvent, 'type'> },
): readonly Mismatch[] | null {
  const body = new LazyBody(offered.rawBody)
  const found = events.map((wanted) => mismatchOf(wanted, offered, body))
  const mismatches = found.filter((one) => one !== null)
  return mismatches.length < found.length ? null : mismatches
}

function toWish({ name, orderBy }: WantingHandler, body: LazyBody): TaskWish {
  const line = orderBy === null ? undefined : lineOf(resolvePointer(body.document, orderBy))
  return line === undefined ? name : { handler: name, line }
}

function wants({ events }: WantingHandler, offered: OfferedEvent, body: LazyBody): boolean {
  return events.some((wanted) => mismatchOf(wanted, offered, body) === null)
}

const OTHER_PROVIDER: Mismatch = { differs: 'provider' }
const OTHER_TYPE: Mismatch = { differs: 'types' }

function mismatchOf(
  { provider: wanted, types, where = {} }: WantedEvents,
  { provider, event }: Parameters<typeof findMismatches>[1],
  body: LazyBody,
): Mismatch | null {
  if (wanted !== undefined && wanted !== provider) return OTHER_PROVIDER
  if (!types.some((pattern) => matchesType(pattern, event.type))) return OTHER_TYPE
  const other = Object.entries(where).find(([pointer, value]) => resolvePointer(body.document, pointer) !== value)
  return other === undefined ? null : { differs: 'where', pointer: other[0] }
}

/** Whether a type is the one of a pattern: the same text, below `a.b.*`, or any for `*`. */
function matchesType(pattern: string, type: string): boolean {
  return pattern.endsWith('*') ? type.startsWith(pattern.slice(0, -1)) : pattern === type
}

/** The JSON of a body, parsed when it is first needed. A body that is no JSON has no values. */
class LazyBody {
  readonly #bytes: Uint8Array
  #document: { readonly value: unknown } | null = null

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  get document(): unknown {
    this.#document ??= { value: parse(this.#bytes) }
    return this.#document.value
  }
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'))
  } catch {
    return undefined
  }
}
