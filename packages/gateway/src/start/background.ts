import { addClockSkewGauge } from '@oncehook/kernel/mongo/database-clock'
import { ensureIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { addMissingKeysGauge, createKeyRegister, type KeyRegister } from '@oncehook/kernel/mongo/key-register'
import { CHECK_FILES_MS } from '@oncehook/kernel/settings/file-source'
import { type PeriodicTask, runPeriodically } from '@oncehook/kernel/time/run-periodically'
import type { Db } from 'mongodb'
import { collectDefaultMetrics } from 'prom-client'
import { sentHandlers } from '../handlers/handler-dispatchers.ts'
import { BODY_INDEXES } from '../inbox/bodies.ts'
import { EVENT_INDEXES } from '../inbox/event-document.ts'
import { removeExpired } from '../inbox/retention/remove-expired.ts'
import { removeUnusedBodies } from '../inbox/retention/remove-unused-bodies.ts'
import { readRetention } from '../inbox/retention/retention.ts'
import { stripOldBodies } from '../inbox/retention/strip-old-bodies.ts'
import { readInboxDepth } from '../inbox/statistics/inbox-depth.ts'
import { MINUTE_INDEXES } from '../inbox/statistics/minutes.ts'
import { findEnding, PROVIDER_STATS, type ProviderCounter } from '../inbox/statistics/provider-stats.ts'
import { TRANSMISSION_INDEXES } from '../inbox/transmissions.ts'
import { addInboxGauges } from '../metrics.ts'
import { AUDIT_INDEXES } from '../operator/audit/audit.ts'
import { type ConsoleFiles, readConsole } from '../operator/console/console.ts'
import { ReplayRunner } from '../operator/replays/replay-runner.ts'
import { REPLAY_INDEXES } from '../operator/replays/replays.ts'
import { SIGN_IN_INDEXES } from '../operator/sign-in/sign-ins.ts'
import type { TestInboxes } from '../operator/test-events/test-events.ts'
import type { Providers } from '../webhooks/providers/providers.ts'
import { REFUSAL_INDEXES } from '../webhooks/refusals/refusals.ts'
import type { Dispatching } from './dispatching.ts'
import { type GatewayContext, noteFailure } from './gateway-context.ts'
import { type AnswerOperators, createAdminParts } from './operator-api.ts'
import type { PublicListener } from './public-listener.ts'

// A delivery needs only the first indexes of events.
const INDEXES = [
  EVENT_INDEXES,
  ...[BODY_INDEXES, TRANSMISSION_INDEXES, AUDIT_INDEXES, REFUSAL_INDEXES, MINUTE_INDEXES],
  ...[...REPLAY_INDEXES, ...SIGN_IN_INDEXES],
]

export interface Background {
  readonly operators: AnswerOperators
  readonly housekeeping: Housekeeping
}

/**
 * Starts everything that no request to the public listener needs: the operator API and the housekeeping. Resolves to null if
 * the gateway is stopping.
 */
export async function startBackground(
  context: GatewayContext,
  listener: PublicListener,
  testInboxes: TestInboxes,
  handlers: Dispatching['handlers'],
): Promise<Background | null> {
  const { mongo, registry, lifecycle, fulfilment, pauses, handlerPauses } = context
  collectDefaultMetrics({ register: registry })
  const opening = mongo.background.open((db) => ensureIndexes(db, INDEXES))
  const [console] = await Promise.all([openConsole(context), opening])
  if (lifecycle.isStopping) return null
  addInboxGauges(registry, {
    async readDepth() {
      // A gateway that sends nothing reads them rarely.
      const sent = sentHandlers(handlers?.current(), handlerPauses.current)
      const reading = readInboxDepth(mongo.background.db, sent, pauses.current.keys())
      const [depth] = await Promise.all([reading, pauses.refresh().catch(() => undefined)])
      return depth
    },
    paused: () => pauses.current,
    providers: () => context.providers.current().keys(),
  })
  addClockSkewGauge(registry, { db: mongo.background.db, clock: context.clock })
  const keyRegister = createKeyRegister({
    db: mongo.background.durableDb,
    encryption: context.encryption,
    now: () => performance.now(),
    processId: context.owner,
  })
  addMissingKeysGauge(registry, keyRegister)
  const replays = createReplayRunner(context, handlers)
  const onReplayStarted = (): void => replays.wake()
  const operators = createAdminParts(context, {
    // Operators act on the data that they see, so it must not be rolled back later.
    db: mongo.operators.durableDb,
    ...{ onReplayStarted, keyRegister, fulfilment, console },
    ...{ receiving: listener.webhooks, testInboxes, handlers: handlers?.current ?? null },
    isHandlerUp: (name) => handlers?.dispatchers.takerOf(name)?.isUp ?? null,
  })
  replays.start()
  context.minutes.start()
  return { operators, housekeeping: [replays, ...startHousekeeping(context, keyRegister)] }
}

function createReplayRunner(context: GatewayContext, handlers: Dispatching['handlers']): ReplayRunner {
  const { mongo, encryption, providers, fetch, random, logger } = context
  return new ReplayRunner({
    ...{ db: mongo.background.db, encryption, providers: providers.current, fetch, random, logger },
    ...{ onError: noteFailure(context), handlers: handlers ?? undefined },
  })
}

/** Reads the built files of the operator's page. Without them, the gateway logs a warning and works otherwise. */
async function openConsole({ findConsole, logger }: GatewayContext): Promise<ConsoleFiles | null> {
  try {
    const consoleFolder = findConsole?.() ?? null
    if (consoleFolder !== null) return await readConsole(consoleFolder)
    logger.warn({}, 'console.missing')
  } catch (error) {
    logger.warn({ error }, 'console.missing')
  }
  return null
}

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000

/** Periodic work. Each part runs until it is stopped. */
type Housekeeping = readonly { stop(): Promise<void> }[]

/**
 * Starts the work that is independent of single deliveries: reloads of changed provider and key files, removal of bodies
 * at the end of their retention, and warnings about secrets that expire soon.
 */
function startHousekeeping(context: GatewayContext, keyRegister: KeyRegister): Housekeeping {
  const { providers, serviceKey, encryptionKeys, fulfilmentTls, mongo, logger, clock, random } = context
  const watched = [providers, serviceKey, encryptionKeys, fulfilmentTls]
  const onError = noteFailure(context)
  const repeat = (everyMs: number, task: PeriodicTask['task']) => runPeriodically({ task, everyMs, random, onError })
  const { db } = mongo.background
  const retention = readRetention(context.settings)
  const warn = async (): Promise<void> => {
    const expiring = await findExpiringSecrets(db, providers.current(), clock.now())
    for (const secret of expiring) logger.warn(secret, 'secret.expires-soon')
  }
  return [
    ...watched.map((source) => repeat(CHECK_FILES_MS, async () => source.check())),
    repeat(CHECK_FILES_MS, () => keyRegister.check()),
    repeat(MINUTE_MS, (stopping) => removeExpired(db, stopping)),
    repeat(HOUR_MS, (stopping) => stripOldBodies(db, retention, stopping)),
    repeat(HOUR_MS, (stopping) => removeUnusedBodies(db, stopping)),
    repeat(HOUR_MS, warn),
  ]
}

const SOON_MS = 7 * 86_400_000
const STILL_USED_MS = 86_400_000

/** Finds secrets that expire within seven days of `now` (milliseconds) and have matched within the day before it. */
export async function findExpiringSecrets(db: Db, providers: Providers, now: number) {
  const used = await db
    .collection<ProviderCounter>(PROVIDER_STATS)
    .find({ '_id.kind': 'secret' })
    .limit(10_000)
    .toArray()
  const byProvider = Map.groupBy(used, ({ _id }) => _id.provider)
  return [...providers.values()].flatMap(({ name: provider, secrets }) =>
    findEnding(secrets, byProvider.get(provider) ?? [], { now, withinMs: SOON_MS }).flatMap(
      ({ id: secretId, notAfter, lastMatchedAt }) =>
        lastMatchedAt === null || now - Date.parse(lastMatchedAt) > STILL_USED_MS
          ? []
          : [{ provider, secretId, notAfter, lastMatchedAt }],
    ),
  )
}
