import { toUnavailable } from '@oncehook/kernel/mongo/write-outcome'
import { DURABLE_READ } from '../durable-read.ts'
import type { Orders } from '../orders/order-store.ts'

/** The current versions of orders, null where an order is not there or was deleted. Any id may be asked for. */
export async function readVersions(
  orders: Orders,
  orderIds: readonly string[],
): Promise<Record<string, number | null>> {
  try {
    const found = await orders
      .find({ _id: { $in: [...orderIds] } }, { ...DURABLE_READ, batchSize: orderIds.length + 1 })
      .project<{ _id: string; version: number; status: string }>({ version: 1, status: 1 })
      .toArray()
    const versions = new Map(found.map(({ _id, version, status }) => [_id, status === 'deleted' ? null : version]))
    // Entries, not assignments: an id may be called __proto__.
    return Object.fromEntries(orderIds.map((id) => [id, versions.get(id) ?? null]))
  } catch (error) {
    throw toUnavailable(error) ?? error
  }
}
