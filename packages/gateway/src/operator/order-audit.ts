import type { Logger } from '@oncehook/kernel/logger'
import { ObjectId } from 'mongodb'
import type { OrderChange } from '../http/order-context.ts'
import type { Audit } from './audit.ts'

/** Brings changes of orders into the audit, behind the answers to their callers. */
export interface OrderAudit {
  record(change: OrderChange): void
  /** Resolves when every change that was recorded is stored or given up. */
  stop(): Promise<void>
}

const MAX_PENDING = 5_000
const ATTEMPTS = 5

/**
 * Creates the record. The order itself names who changed it, in the same write; this copy is the one that cannot be
 * rewritten unnoticed. A caller does not wait for it. A change that cannot be stored is logged as `audit.not-recorded`.
 */
export function createOrderAudit(
  audit: Pick<Audit, 'record'>,
  { logger, wait }: { readonly logger: Logger; readonly wait: (ms: number) => Promise<unknown> },
): OrderAudit {
  const pending = new Set<Promise<void>>()
  const store = async ({ action, principal, ...details }: OrderChange): Promise<void> => {
    const entry = { id: new ObjectId(), by: `api:${principal}`, action, reason: null, details }
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await audit.record(entry)
      } catch (error) {
        if (attempt === ATTEMPTS) {
          logger.error({ action, principal, ...details, error }, 'audit.not-recorded')
          return
        }
        await wait(100 * 2 ** attempt)
      }
    }
  }
  return {
    record(change) {
      if (pending.size >= MAX_PENDING) {
        logger.error({ ...change }, 'audit.not-recorded')
        return
      }
      const stored: Promise<void> = store(change).finally(() => pending.delete(stored))
      pending.add(stored)
    },
    stop: async () => void (await Promise.all(pending)),
  }
}
