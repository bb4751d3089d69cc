import { type Order, OrdersApiFailure, type OrdersClient } from './orders-client.ts'

/** The dependencies of `watchOrder`. */
export interface WatchDeps {
  readonly orders: OrdersClient
  readonly now: () => number
  readonly sleep: (ms: number) => Promise<void>
}

/** The state to wait for, and the deadline. */
export interface Watch {
  readonly until: (order: Order) => boolean
  /** Milliseconds since 1970. */
  readonly deadline: number
}

const firstPauseMs = 10
const longestPauseMs = 250

/**
 * Reads an order until it has the expected state or the deadline has passed, and returns the last state. Temporary failures of
 * the API are retried.
 * @throws OrdersApiFailure if the API refuses, or still fails at the deadline
 */
export async function watchOrder(deps: WatchDeps, id: string, { until, deadline }: Watch): Promise<Order> {
  let pauseMs = firstPauseMs
  for (;;) {
    const isLast = deps.now() >= deadline
    const seen = await tryRead(deps.orders, id, isLast)
    if (seen !== null && (until(seen) || isLast)) return seen
    await deps.sleep(Math.max(0, Math.min(pauseMs, deadline - deps.now())))
    pauseMs = Math.min(pauseMs * 1.5, longestPauseMs)
  }
}

async function tryRead(orders: OrdersClient, id: string, isLast: boolean): Promise<Order | null> {
  try {
    return await orders.read(id)
  } catch (error) {
    if (!isLast && error instanceof OrdersApiFailure && isPassing(error.status)) return null
    throw error
  }
}

function isPassing(status: number | null): boolean {
  return status === null || status === 429 || status >= 500
}
