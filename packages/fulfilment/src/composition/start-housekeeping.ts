import { randomUUID } from 'node:crypto'
import { CHECK_ENCRYPTION_KEYS_MS } from '@oncehook/kernel/encryption-keys'
import type { KeyRegister } from '@oncehook/kernel/mongo/key-register'
import { runPeriodically } from '@oncehook/kernel/run-periodically'
import { withTimeout } from '@oncehook/kernel/with-timeout'
import { notePaymentsUnreserved, reserveStoredPayments } from '../payments/guard/stored-payments.ts'
import { forgetReceipts } from '../receipts/forget-receipts.ts'
import type { FulfilmentParts, WorkerParts } from './fulfilment-parts.ts'

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
const LAST_WORK_MS = 800

interface HousekeepingParts extends Omit<WorkerParts, 'metrics'> {
  readonly register: KeyRegister
}

/** Starts the tasks that remove expired personal data, register the encryption keys in use, and reserve payments. */
export function startHousekeeping(parts: FulfilmentParts, housekeeping: HousekeepingParts): void {
  const { errors, mongo, lifecycle, register } = housekeeping
  const { settings, logger, random } = parts
  const guard = settings.PAYMENT_GUARD
  const onError = (error: unknown): void => {
    errors.count(error)
    logger.warn({ error }, 'housekeeping.failed')
  }
  const duties: readonly ((stopping: AbortSignal) => Promise<void>)[] = [
    (stopping) => forgetReceipts(mongo.db, stopping),
    // A process with reservations may have completed them since this one started.
    ...(guard === 'index' ? [() => notePaymentsUnreserved(mongo.db)] : []),
  ]
  // If one fails, the others still run.
  const task = async (stopping: AbortSignal): Promise<void> => {
    for (const duty of duties) {
      if (!stopping.aborted) await duty(stopping).catch(onError)
    }
  }
  const running = runPeriodically({ task, everyMs: HOUR_MS, random, onError })
  const reserve = (stopping: AbortSignal): Promise<void> =>
    reserveStoredPayments({ db: mongo.db, errors, logger, newPassId: randomUUID }, stopping)
  const reserving = guard === 'index' ? null : runPeriodically({ task: reserve, everyMs: MINUTE_MS, random, onError })
  const noting = runPeriodically({ task: () => register.check(), everyMs: CHECK_ENCRYPTION_KEYS_MS, random, onError })
  // Work that the next process resumes where it stopped.
  const stop = async (): Promise<void> =>
    void (await withTimeout(Promise.all([running.stop(), noting.stop(), reserving?.stop()]), LAST_WORK_MS))
  lifecycle.onStop({ name: 'housekeeping', withinMs: 1_000, stop })
}
