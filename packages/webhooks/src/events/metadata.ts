import { toId } from './event-text.ts'
import { isObject } from './json-object.ts'

/**
 * The order that the first of these objects names as `order_id` or `orderId`; undefined if none does. A shop writes it into
 * the fields that providers reserve for shops (metadata, custom data, notes).
 */
export function orderInMetadata(...places: readonly unknown[]): string | undefined {
  return places
    .filter(isObject)
    .flatMap(({ order_id, orderId }) => [toId(order_id), toId(orderId)])
    .find((id) => id !== undefined)
}
