import { addClockSkewGauge } from '@oncehook/kernel/mongo/database-clock'
import { ensureIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { addMissingKeysGauge, createKeyRegister } from '@oncehook/kernel/mongo/key-register'
import { runPeriodically } from '@oncehook/kernel/time/run-periodically'
import { collectDefaultMetrics } from 'prom-client'
import { sentHandlers } from '../handlers/sent-handlers.ts'
import { BODY_INDEXES } from '../inbox/bodies.ts'
import { EVENT_INDEXES } from '../inbox/event-document.ts'
import { readInboxDepth } from '../inbox/statistics/inbox-depth.ts'
import { TRANSMISSION_INDEXES } from '../inbox/transmissions.ts'
import { addInboxGauges } from '../metrics.ts'
import type { AnswerOperators } from '../operator/answer-operators.ts'
import { AUDIT_INDEXES } from '../operator/audit/audit.ts'
import { createAnswerHistory } from '../operator/health/answer-history.ts'
import { REPLAY_INDEXES } from '../operator/replays/replay-document.ts'
import { ReplayRunner } from '../operator/replays/replay-runner.ts'
import { SIGN_IN_INDEXES } from '../operator/sign-in/sign-ins.ts'
import { createEventTail } from '../operator/tail/event-tail.ts'
import { REFUSAL_INDEXES } from '../refusals/refusal-document.ts'
import { createAdminParts } from './create-admin-parts.ts'
import type { Dispatching } from './create-dispatching.ts'
import type { GatewayContext } from './gateway-context.ts'
import type { HandlerWork } from './handlers/create-handler-work.ts'
import { openConsole } from './open-console.ts'
import { type Housekeeping, startHousekeeping } from './start-housekeeping.ts'
import type { Inboxes } from './start-inbox.ts'
import type { PublicListener } from './start-public-listener.ts'

// A delivery needs only the first indexes of events.
const INDEXES = [
  EVENT_INDEXES,
  ...[BODY_INDEXES, TRANSMISSION_INDEXES, AUDIT_INDEXES, REFUSAL_INDEXES],
  ...[...REPLAY_INDEXES, ...SIGN_IN_INDEXES],
]

/** The parts that run in the background. */
export interface Background {
  readonly operators: AnswerOperators
  readonly housekeeping: Housekeeping
}

/** Where deliveries come from, the inbox for test events, and the handlers. */
interface Deliveries extends Pick<Inboxes, 'testInboxes'>, Pick<Dispatching, 'handlers'> {
  readonly listener: PublicListener
}

/**
 * Starts everything that no request to the public listener needs: the operator API and the housekeeping. Resolves to null if
 * the gateway is stopping.
 */
export async function startBackground(context: GatewayContext, deliveries: Deliveries): Promise<Background | null> {
  const { listener, testInboxes, handlers } = deliveries
  const { mongo, registry, lifecycle, fulfilment, pauses, handlerPauses } = context
  collectDefaultMetrics({ register: registry })
  const opening = mongo.background.open((db) => ensureIndexes(db, INDEXES))
  const [console] = await Promise.all([openConsole(context), opening])
  if (lifecycle.isStopping) return null
  addInboxGauges(registry, {
    async readDepth() {
      // A gateway that sends nothing reads them rarely.
      const sent = sentHandlers(handlers?.current(), handlerPauses.current)
      const reading = readInboxDepth(mongo.background.db, sent)
      const [depth] = await Promise.all([reading, pauses.refresh().catch(() => undefined)])
      return depth
    },
    paused: () => pauses.current,
    providers: () => context.providers.current().keys(),
  })
  addClockSkewGauge(registry, { db: mongo.background.db, clock: context.clock })
  // Operators act on the data that they see, so it must not be rolled back later.
  const db = mongo.background.durableDb
  const keyRegister = createKeyRegister({
    db,
    encryption: context.encryption,
    now: () => performance.now(),
    processId: context.owner,
  })
  addMissingKeysGauge(registry, keyRegister)
  const tail = createEventTail({ db, clock: context.clock, now: () => performance.now(), logger: context.logger })
  const answers = createAnswerHistory(registry, context.clock)
  const replays = createReplayRunner(context, handlers)
  const onReplayStarted = (): void => replays.wake()
  const operators = createAdminParts(context, {
    ...{ onReplayStarted, db, keyRegister, fulfilment, tail, answers, console },
    ...{ receiving: listener.webhooks, testInboxes, handlers: handlers?.current ?? null },
    isHandlerUp: (name) => handlers?.dispatchers.takerOf(name)?.isUp ?? null,
  })
  const sampling = runPeriodically({
    ...{ task: answers.sample, everyMs: context.limits.answerSpanMs, random: context.random },
    onError: (error) => context.logger.warn({ error }, 'housekeeping.failed'),
  })
  replays.start()
  return { operators, housekeeping: [replays, ...startHousekeeping(context, keyRegister), tail, sampling] }
}

/** Creates the runner of the replays that operators request. */
function createReplayRunner(context: GatewayContext, handlers: HandlerWork | null): ReplayRunner {
  const { mongo, encryption, providers, fetch, random, logger, databaseErrors } = context
  const onError = (error: unknown): void => {
    databaseErrors.count(error)
    logger.warn({ error }, 'housekeeping.failed')
  }
  const { db } = mongo.background
  return new ReplayRunner({
    ...{ db, encryption, providers: providers.current, fetch, random, logger, onError },
    handlers: handlers ?? undefined,
  })
}
