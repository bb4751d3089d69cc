import { isObject, toId } from './read-event.ts'

/**
 * The order that the first of these objects names as `order_id` or `orderId`: what a shop writes into the free fields
 * that providers carry along for it (metadata, custom data, notes). Undefined where none does.
 */
export function orderInFreeFields(...places: readonly unknown[]): string | undefined {
  return places
    .filter(isObject)
    .flatMap(({ order_id, orderId }) => [toId(order_id), toId(orderId)])
    .find((id) => id !== undefined)
}
