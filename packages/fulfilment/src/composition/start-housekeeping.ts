import { CHECK_ENCRYPTION_KEYS_MS } from '@oncehook/kernel/encryption-keys'
import type { KeyRegister } from '@oncehook/kernel/mongo/key-register'
import { runPeriodically } from '@oncehook/kernel/run-periodically'
import { withTimeout } from '@oncehook/kernel/with-timeout'
import { forgetReceipts } from '../receipts/forget-receipts.ts'
import type { FulfilmentParts, WorkerParts } from './fulfilment-parts.ts'

const HOUR_MS = 3_600_000
const LAST_WORK_MS = 800

interface HousekeepingParts extends Omit<WorkerParts, 'metrics'> {
  readonly register: KeyRegister
}

/** Starts the tasks that remove expired personal data and register the encryption keys in use. */
export function startHousekeeping(parts: FulfilmentParts, housekeeping: HousekeepingParts): void {
  const { errors, mongo, lifecycle, register } = housekeeping
  const { logger, random } = parts
  const onError = (error: unknown): void => {
    errors.count(error)
    logger.warn({ error }, 'housekeeping.failed')
  }
  const running = runPeriodically({
    task: (stopping) => forgetReceipts(mongo.db, stopping),
    everyMs: HOUR_MS,
    random,
    onError,
  })
  const noting = runPeriodically({ task: () => register.check(), everyMs: CHECK_ENCRYPTION_KEYS_MS, random, onError })
  // Work that the next process resumes where it stopped.
  const stop = async (): Promise<void> =>
    void (await withTimeout(Promise.all([running.stop(), noting.stop()]), LAST_WORK_MS))
  lifecycle.onStop({ name: 'housekeeping', withinMs: 1_000, stop })
}
