import { toUnavailable } from '@oncehook/kernel/mongo/write-outcome'
import { DURABLE_READ } from '../durable-read.ts'
import type { Orders } from '../orders/stored/order-store.ts'

/**
 * The current versions of orders. Null if an order does not exist, was deleted or has no valid version; applying an
 * event then reports which. Accepts any id.
 */
export async function readVersions(
  orders: Orders,
  orderIds: readonly string[],
): Promise<Record<string, number | null>> {
  try {
    const found = await orders
      .find({ _id: { $in: [...orderIds] } }, { ...DURABLE_READ, batchSize: orderIds.length + 1 })
      .project<{ _id: string; version: number; status: string }>({ version: 1, status: 1 })
      .toArray()
    const versions = new Map(found.map((order) => [order._id, versionOf(order)]))
    // Built from entries, not by assignment: an id may be `__proto__`.
    return Object.fromEntries(orderIds.map((id) => [id, versions.get(id) ?? null]))
  } catch (error) {
    throw toUnavailable(error) ?? error
  }
}

function versionOf({ version, status }: { readonly version: number; readonly status: string }): number | null {
  return status === 'deleted' || !Number.isSafeInteger(version) ? null : version
}
