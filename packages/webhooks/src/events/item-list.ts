import { invalidBody } from '@oncehook/kernel/http/error-codes'
import type { VerifiedDelivery } from '../delivery.ts'
import { eventInvalid } from '../errors.ts'
import type { WebhookEvent } from '../event.ts'
import { type EventRules, normalizeEvent } from './event-reader.ts'
import type { FoundEvent } from './found-event.ts'
import { idOfBytes } from './id-of-bytes.ts'
import { readJson } from './json-object.ts'
import { unreadableEvent } from './read-anything.ts'

/** A delivery of several items. */
interface ItemList<Item> {
  readonly items: readonly Item[]
  /** The most items of the provider. Each becomes a record. */
  readonly most: number
  readonly delivery: Pick<VerifiedDelivery, 'rawBody' | 'refusedItems'>
  /** Where an item is in the body, as a JSON Pointer. */
  readonly pointerOf: (index: number) => string
}

/**
 * Reads a body that is a list of events.
 * @throws invalidBody if it is none, eventInvalid if there are more items than the provider ever sends
 */
export function readList(
  delivery: ItemList<unknown>['delivery'],
  rules: EventRules,
  { most, find }: { readonly most: number; readonly find: (item: unknown) => FoundEvent },
): WebhookEvent[] {
  const items = readJson(delivery.rawBody)
  if (!Array.isArray(items)) throw invalidBody({ reason: 'not a list' }, { message: 'The body is not a JSON list' })
  const pointerOf = (index: number): string => `/${index}`
  return readItems<unknown>({ items, most, delivery, pointerOf }, rules, find)
}

/**
 * Reads each item of a delivery whose signature holds, with what `find` finds in it. An item that cannot be read has no effect, and takes none away
 * from the others.
 * @throws eventInvalid if there are more items than the provider ever sends
 */
export function readItems<Item>(
  { items, most, delivery: { rawBody, refusedItems = [] }, pointerOf }: ItemList<Item>,
  rules: EventRules,
  find: (item: Item) => FoundEvent,
): WebhookEvent[] {
  if (items.length > most) {
    throw eventInvalid({ events: items.length }, { message: `A delivery of this provider has at most ${most} events` })
  }
  const idOfAll = idOfBytes(rawBody)
  return items.flatMap((item, index) => {
    if (refusedItems.includes(index)) return []
    const [otherId, pointer] = [`${idOfAll}:${index}`, pointerOf(index)]
    try {
      return [normalizeEvent({ ...find(item), pointer }, item, rules, () => otherId)]
    } catch (error) {
      if (!eventInvalid.is(error)) throw error
      return [unreadableEvent({ id: otherId, pointer })]
    }
  })
}
