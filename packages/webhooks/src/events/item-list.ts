import { tooManyEvents } from '../errors.ts'

/**
 * The items of a delivery, at most `most`. The number is limited because each item becomes a record.
 * @throws tooManyEvents
 */
export function boundedItems<Item>(items: readonly Item[], most: number): readonly Item[] {
  if (items.length <= most) return items
  throw tooManyEvents({ events: items.length }, { message: `A delivery of this provider has at most ${most} events` })
}
