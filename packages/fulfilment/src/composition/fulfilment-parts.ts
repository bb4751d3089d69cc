import type { Clock } from '@oncehook/kernel/clock'
import type { Encryption } from '@oncehook/kernel/encryption'
import type { Lifecycle } from '@oncehook/kernel/lifecycle'
import type { LogOutput } from '@oncehook/kernel/log-output'
import type { Logger } from '@oncehook/kernel/logger'
import type { MongoConnection } from '@oncehook/kernel/mongo/connection/mongo-connection'
import type { DatabaseErrors } from '@oncehook/kernel/mongo/database-errors'
import type { ServiceTokenVerifier } from '@oncehook/kernel/service-token'
import type { FulfilmentMetrics } from '../metrics.ts'
import type { FulfilmentSettings } from '../settings.ts'
import type { Recording } from './recording.ts'

/** Dependencies of fulfilment besides its settings. Tests replace some of them. */
export interface FulfilmentParts {
  readonly settings: FulfilmentSettings
  readonly logger: Logger
  /** The log output, used to count lost lines. */
  readonly logOutput?: LogOutput
  readonly clock: Clock
  readonly random: () => number
  /** Posts receipts. */
  readonly fetch: typeof globalThis.fetch
  /** Milliseconds that a run holds an idempotency key. Longer than any request. */
  readonly keyLeaseMs: number
  /** Milliseconds that a worker holds a receipt. Longer than a batch of attempts. */
  readonly receiptLeaseMs: number
  /** Verifies service tokens. Default: by the keys of the settings. */
  readonly verifyToken?: ServiceTokenVerifier | undefined
  /** Records the steps of the protocol, for tests. Default: nothing is recorded. */
  readonly recording?: Recording | undefined
}

/** What the parts of a running service share. */
export interface WorkerParts {
  readonly metrics: FulfilmentMetrics
  readonly errors: DatabaseErrors
  readonly mongo: MongoConnection
  readonly lifecycle: Lifecycle
  readonly encryption: Encryption
}

const DAY_MS = 86_400_000

/** How long a sent receipt keeps its customer and email, in milliseconds. */
export function keepMsOf({ RECEIPT_RETENTION_DAYS }: FulfilmentSettings): number {
  return RECEIPT_RETENTION_DAYS * DAY_MS
}
