import { parseJson } from '@oncehook/kernel/http/json'
import { lineOf, type TaskWish } from '@oncehook/queue/order/turns'
import { firstUnmet, resolvePointer, type WebhookEvent } from '@oncehook/webhooks/providers'
import type { HandlerSettings, WantedEvents } from '../handlers/handler-settings.ts'

/** A delivery, as far as it decides which handlers want its events. */
export interface OfferedDelivery {
  readonly provider: string
  readonly rawBody: Uint8Array
}

/** One of its events, as far as it decides. */
export type OfferedEvent = Pick<WebhookEvent, 'type' | 'facts'>

/**
 * Returns the search for the handlers that want an event of a delivery, in the order of the setting. The body is parsed
 * when it is first needed, once for all events.
 */
export type FindWanting = (delivery: OfferedDelivery) => (event: OfferedEvent) => readonly TaskWish[]

/** A handler, as far as it decides which events it wants, and in which lines their tasks are. */
type WantingHandler = Pick<HandlerSettings, 'name' | 'events' | 'orderBy'>

const NOBODY: readonly TaskWish[] = []

/** Why no handler gets an event: it does not meet `expect` of its provider, or what it says is not certain. Null otherwise. */
export function forNobodyBecause({ facts }: Pick<WebhookEvent, 'facts'>): ForNobody | null {
  return FOR_NOBODY.find((reason) => reason === facts.withheld) ?? null
}

const FOR_NOBODY = ['not_expected', 'ambiguous', 'unreadable'] as const
type ForNobody = (typeof FOR_NOBODY)[number]

/** Prepares the search for the handlers that want an event. */
export function prepareWanting(handlers: ReadonlyMap<string, WantingHandler>): FindWanting {
  const candidates = [...handlers.values()]
  if (candidates.length === 0) return () => () => NOBODY
  return ({ provider, rawBody }) => {
    const body = new LazyBody(rawBody)
    return (event) => {
      if (forNobodyBecause(event) !== null) return NOBODY
      const offered = { provider, event, body }
      const wanting = candidates.filter(({ events }) => events.some((wanted) => mismatchOf(wanted, offered) === null))
      return wanting.length === 0 ? NOBODY : wanting.map((handler) => toWish(handler, offered))
    }
  }
}

/** Why an entry of `events` leaves an event out: the first property that differs. */
export type Mismatch =
  | { readonly differs: 'provider' | 'types' }
  /** `pointer`: the place in the body. */
  | { readonly differs: 'where'; readonly pointer: string }

/**
 * Prepares the search for the reasons why a handler does not want an event of a delivery: one for each entry of its
 * `events`, in their order. Null if it wants the event.
 */
export function prepareMismatches({
  provider,
  rawBody,
}: OfferedDelivery): (event: OfferedEvent, events: HandlerSettings['events']) => readonly Mismatch[] | null {
  const body = new LazyBody(rawBody)
  return (event, events) => {
    const found = events.map((wanted) => mismatchOf(wanted, { provider, event, body }))
    const mismatches = found.filter((one) => one !== null)
    return mismatches.length < found.length ? null : mismatches
  }
}

function toWish({ name, orderBy }: WantingHandler, { event, body }: Offered): TaskWish {
  const line = orderBy === null ? undefined : lineOf(resolvePointer(body.partOf(event), orderBy))
  return line === undefined ? name : { handler: name, line }
}

interface Offered {
  readonly provider: string
  readonly event: OfferedEvent
  readonly body: LazyBody
}

const OTHER_PROVIDER: Mismatch = { differs: 'provider' }
const OTHER_TYPE: Mismatch = { differs: 'types' }

function mismatchOf(
  { provider: wanted, types, where }: WantedEvents,
  { provider, event, body }: Offered,
): Mismatch | null {
  if (wanted !== undefined && wanted !== provider) return OTHER_PROVIDER
  if (!types.some((pattern) => matchesType(pattern, event.type))) return OTHER_TYPE
  const pointer = where === undefined ? null : firstUnmet(body.partOf(event), where)
  return pointer === null ? null : { differs: 'where', pointer }
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

  /** The document of an event: the body, or its part in a body with several events. */
  partOf({ facts: { pointer = '' } }: OfferedEvent): unknown {
    const { buffer, byteOffset, byteLength } = this.#bytes
    this.#document ??= { value: parseJson(Buffer.from(buffer, byteOffset, byteLength).toString('utf8')) }
    return resolvePointer(this.#document.value, pointer)
  }
}
