import { setTimeout as sleep } from 'node:timers/promises'
import { createLogger } from '@oncehook/kernel/log/logger'
import { touch } from '@oncehook/kernel/mongo/majority-probe'
import { createMongoConnection } from '@oncehook/kernel/mongo/mongo-connection'
import { Secret } from '@oncehook/kernel/secrets/secret'
import type { Claim } from '@oncehook/queue/claim/claim'
import { createClaims } from '@oncehook/queue/claim/claims'
import { Steadiness } from '@oncehook/queue/claim/steadiness'
import { Dispatcher } from '@oncehook/queue/dispatch/dispatcher'
import { createAllowance } from '@oncehook/queue/dispatch/pace'
import type { Sent } from '@oncehook/queue/dispatch/send'
import { SuspectsLane } from '@oncehook/queue/dispatch/suspects-lane'
import { NO_PAUSES } from '@oncehook/queue/testing/no-pauses'
import { CLAIM_OPTIONS } from '@oncehook/queue/testing/sample-task'
import { FULFILMENT } from '../inbox/event-document.ts'

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

async function tryBatch(batch: readonly Claim[]): Promise<Sent> {
  await sleep(TRY_MS / 2)
  if (batch.some(({ eventId }) => eventId === KILLER)) process.kill(process.pid, 'SIGKILL')
  await sleep(TRY_MS / 2)
  const attempt = { ms: TRY_MS, outcome: 'applied', code: null, message: null }
  const settlement = { state: 'done', outcome: { kind: 'applied', version: 2 } } as const
  const settled = batch.map((claim) => ({ claim, settlement, attempt }))
  return { settled, hasVerdict: true, failure: null, late: [], unread: null }
}

/** Runs a dispatcher in this process, until an event kills it. */
async function run({ uri, database, leaseMs, maxCrashes, ...sizes }: MortalOptions): Promise<void> {
  const logger = createLogger({ service: 'gateway', level: 'warn' })
  const connection = createMongoConnection({
    ...{ uri: new Secret(uri), database, appName: 'mortal', maxPoolSize: 8, logger },
  })
  await connection.open()
  const now = (): number => performance.now()
  const claims = createClaims({
    ...{ ...CLAIM_OPTIONS, db: connection.db, handler: FULFILMENT, lastsMs: leaseMs, maxCrashes, maxDelayMs: 1_000 },
    steadiness: new Steadiness(leaseMs / 2, now, () => touch(connection.db, 'claims')),
  })
  const dispatcher = new Dispatcher({
    ...{
      handler: FULFILMENT,
      claims,
      send: tryBatch,
      pauses: NO_PAUSES,
      random: Math.random,
      logger,
      leaseMs,
      callMs: 0,
    },
    ...{ now, databaseNow: connection.databaseNow, ...sizes },
    allowance: createAllowance({ ratePerSecond: null, isPaused: () => false, now }),
    onSettled: () => undefined,
    onLost: () => undefined,
  })
  dispatcher.start()
  const onError = (error: unknown): void => logger.warn({ error }, 'dispatch.database-failed')
  const suspected = async (): Promise<string[]> => [FULFILMENT]
  new SuspectsLane({ dispatchers: () => [dispatcher], suspected, random: Math.random, now, onError }).start()
}

const [, file, options] = process.argv
if (file === import.meta.filename && options !== undefined) await run(JSON.parse(options) as MortalOptions)
