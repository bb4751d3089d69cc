import { tooManyEvents } from '../errors.ts'

/**
 * The items of a delivery, at most `most` of them: each becomes a record, so that their number has a bound.
 * @throws tooManyEvents
 */
export function boundedItems<Item>(items: readonly Item[], most: number): readonly Item[] {
  if (items.length <= most) return items
  throw tooManyEvents({ events: items.length }, { says: `A delivery has at most ${most} events here` })
}
