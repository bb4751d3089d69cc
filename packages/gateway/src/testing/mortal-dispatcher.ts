import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLogger } from '@oncehook/kernel/log/logger'
import { createMongoConnection } from '@oncehook/kernel/mongo/mongo-connection'
import { Secret } from '@oncehook/kernel/secrets/secret'
import { systemClock } from '@oncehook/kernel/time/clock'
import { Dispatcher } from '../dispatch/dispatcher.ts'
import type { ProcessedBatch } from '../dispatch/process-batch.ts'
import type { Claim } from '../inbox/claims/claim.ts'
import { createClaims } from '../inbox/claims/claims.ts'
import { FULFILMENT } from '../inbox/event-document.ts'
import { NO_PAUSES } from './no-pauses.ts'

/** The event that kills the process that handles it. */
export const KILLER = 'killer'

/** The options of a mortal dispatcher, as JSON in its first argument. */
export interface MortalOptions {
  readonly uri: string
  readonly database: string
  readonly leaseMs: number
  readonly maxCrashes: number
  readonly batchSize: number
  readonly concurrency: number
}

// Long enough that other events are in progress when the killer strikes.
const TRY_MS = 40

async function tryBatch(batch: readonly Claim[]): Promise<ProcessedBatch> {
  await sleep(TRY_MS / 2)
  if (batch.some(({ event }) => event.id === KILLER)) process.kill(process.pid, 'SIGKILL')
  await sleep(TRY_MS / 2)
  const attempt = { ms: TRY_MS, outcome: 'applied', code: null, message: null }
  const settlement = { state: 'done', outcome: { kind: 'applied', version: 2 } } as const
  return { settled: batch.map((claim) => ({ claim, settlement, attempt })), asked: true, failure: null }
}

/** Runs a dispatcher in this process, until an event kills it. */
async function run({ uri, database, leaseMs, ...limits }: MortalOptions): Promise<void> {
  const logger = createLogger({ service: 'gateway', level: 'warn' })
  const connection = createMongoConnection({
    ...{ uri: new Secret(uri), database, appName: 'mortal', maxPoolSize: 8, logger },
  })
  await connection.open()
  const { maxCrashes } = limits
  const claims = createClaims({
    ...{ db: connection.db, owner: randomUUID(), handler: FULFILMENT, leaseMs, maxCrashes, maxDelayMs: 1_000 },
    paused: () => NO_PAUSES.current,
    ...{ retentionMs: 3_600_000, bodyRetentionMs: 3_600_000 },
  })
  new Dispatcher({
    ...{
      handler: FULFILMENT,
      claims,
      pauses: NO_PAUSES,
      process: tryBatch,
      clock: systemClock,
      random: Math.random,
      logger,
      leaseMs,
      ...limits,
    },
    onSettled: () => undefined,
    onLost: () => undefined,
  }).start()
}

const [, file, options] = process.argv
if (file === import.meta.filename && options !== undefined) await run(JSON.parse(options) as MortalOptions)
