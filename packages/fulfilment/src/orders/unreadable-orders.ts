import type { Logger } from '@oncehook/kernel/logger'

/** Names damaged orders in the log. */
export interface UnreadableOrders {
  /** Logs `order.unreadable` unless it has named this order within the last minute. */
  report(orderId: string, details?: Readonly<Record<string, unknown>>): void
}

const AGAIN_MS = 60_000
const MOST_NAMED = 100

/**
 * Creates the log of damaged orders. However often they are read, it names each once a minute, and at most 100 of them:
 * `unnamed` of a later line counts the reports of others. `now` returns monotonic milliseconds.
 */
export function createUnreadableOrders(logger: Pick<Logger, 'error'>, now: () => number): UnreadableOrders {
  // The longest ago first.
  const named = new Map<string, number>()
  let unnamed = 0
  return {
    report(orderId, details = {}) {
      const time = now()
      for (const [id, at] of named) {
        if (time - at < AGAIN_MS) break
        named.delete(id)
      }
      if (named.has(orderId)) return
      if (named.size >= MOST_NAMED) {
        unnamed += 1
        return
      }
      named.set(orderId, time)
      logger.error({ ...details, orderId, ...(unnamed === 0 ? {} : { unnamed }) }, 'order.unreadable')
      unnamed = 0
    },
  }
}
