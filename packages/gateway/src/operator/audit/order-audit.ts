import { hash } from 'node:crypto'
import type { Logger } from '@oncehook/kernel/log/logger'
import { ObjectId } from 'mongodb'
import type { OrderChange } from '../../orders/order-context.ts'
import type { Audit } from './audit.ts'

const MAX_PENDING = 5_000
const ATTEMPTS = 5

/**
 * Writes changes of orders to the audit log, after their callers were answered. The order itself names who changed it, in
 * the same write; this copy cannot be changed unnoticed. Callers do not wait for it. A change that cannot be stored is logged
 * as `audit.not-recorded`.
 */
export function createOrderAudit(
  audit: Pick<Audit, 'record' | 'has'>,
  { logger, wait }: { readonly logger: Logger; readonly wait: (ms: number) => Promise<unknown> },
) {
  const pending = new Set<Promise<void>>()
  // A warning is enough for a change that may not have happened: nobody looks for it.
  const warn = (change: Partial<OrderChange>, error?: unknown): void => {
    const line = error === undefined ? { ...change } : { ...change, error }
    logger[change.unconfirmed === true ? 'warn' : 'error'](line, 'audit.not-recorded')
  }
  const store = async ({ action, principal, madeAt, isRepetition, ...details }: OrderChange): Promise<void> => {
    const id = madeAt === undefined ? new ObjectId() : idOfMaking(details.orderId, madeAt)
    const entry = { id, by: `api:${principal}`, action, reason: null, details }
    // The entry of a repetition is usually there already.
    const insert = async () => {
      if (isRepetition !== true || !(await audit.has(id))) await audit.record(entry)
    }
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await insert()
      } catch (error) {
        if (attempt === ATTEMPTS) {
          warn({ action, principal, ...details }, error)
          return
        }
        await wait(100 * 2 ** attempt)
      }
    }
  }
  return {
    record(change: OrderChange): void {
      if (pending.size >= MAX_PENDING) {
        warn(change)
        return
      }
      const stored: Promise<void> = store(change).finally(() => pending.delete(stored))
      pending.add(stored)
    },
    /** Resolves when every recorded change is stored or given up. */
    stop: async (): Promise<void> => void (await Promise.all(pending)),
  }
}

/**
 * Returns the same id for every request that reports the creation of this order, so that there is one entry. Ids sort
 * by time.
 */
function idOfMaking(orderId: string | null, madeAt: string): ObjectId {
  const parsed = Math.floor(Date.parse(madeAt) / 1_000)
  // A stored answer that something else has changed may have a time that fits into no id.
  const seconds = parsed >= 0 && parsed < 2 ** 32 ? parsed : 0
  const digest = hash('sha256', JSON.stringify(['orders.create', orderId, madeAt]))
  return new ObjectId(seconds.toString(16).padStart(8, '0') + digest.slice(0, 16))
}
