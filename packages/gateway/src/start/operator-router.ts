import * as audit from '../operator/audit/audit-procedures.ts'
import * as events from '../operator/events/event-procedures.ts'
import * as handlers from '../operator/handlers/handler-procedures.ts'
import { minutesProcedure } from '../operator/health/minutes-procedure.ts'
import { providerHealthProcedure } from '../operator/health/provider-health.ts'
import { router } from '../operator/operator-trpc.ts'
import * as orders from '../operator/order-procedures.ts'
import { overviewProcedure } from '../operator/overview-procedures.ts'
import * as providers from '../operator/providers/provider-procedures.ts'
import * as receipts from '../operator/receipt-procedures.ts'
import * as refusals from '../operator/refusal-procedures.ts'
import * as replays from '../operator/replays/replay-procedures.ts'
import * as signIns from '../operator/sign-in/sign-ins.ts'
import * as testEvents from '../operator/test-events/send-test-procedure.ts'
import { eraseProcedure } from '../privacy/erasure.ts'
import * as rotation from '../privacy/rotation.ts'

export const operatorRouter = router({
  me: signIns.meProcedure,
  signIn: router({ createCode: signIns.createCodeProcedure, end: signIns.signOutProcedure }),
  sessions: router({ list: signIns.listSessionsProcedure, end: signIns.endSessionsProcedure }),
  overview: overviewProcedure,
  minutes: minutesProcedure,
  events: router({
    list: events.listEventsProcedure,
    feed: events.feedEventsProcedure,
    counts: events.countEventsProcedure,
    get: events.getEventProcedure,
    replay: replays.replayEventsProcedure,
    reverify: events.reverifyEventProcedure,
    sendTest: testEvents.sendTestProcedure,
    testTarget: testEvents.testTargetProcedure,
    close: events.closeEventProcedure,
    release: events.releaseEventProcedure,
  }),
  replays: router({
    list: replays.listReplaysProcedure,
    get: replays.getReplayProcedure,
    cancel: replays.cancelReplayProcedure,
  }),
  erase: eraseProcedure,
  encryption: router({ status: rotation.encryptionStatusProcedure, rotate: rotation.rotateEncryptionProcedure }),
  providers: router({
    list: providers.listProvidersProcedure,
    refusedSettings: providers.refusedSettingsProcedure,
    health: providerHealthProcedure,
    pause: providers.pauseProviderProcedure,
    resume: providers.resumeProviderProcedure,
  }),
  handlers: router({
    list: handlers.listHandlersProcedure,
    pause: handlers.pauseHandlerProcedure,
    resume: handlers.resumeHandlerProcedure,
    backfill: handlers.backfillProcedure,
    discard: handlers.discardTasksProcedure,
  }),
  refusals: router({ list: refusals.listRefusalsProcedure, counts: refusals.countRefusalsProcedure }),
  receipts: router({
    list: receipts.listReceiptsProcedure,
    release: receipts.releaseReceiptProcedure,
    releaseAll: receipts.releaseAllReceiptsProcedure,
  }),
  orders: router({ get: orders.getOrderProcedure, correct: orders.correctOrderProcedure }),
  audit: router({ list: audit.listAuditProcedure, verify: audit.verifyAuditProcedure }),
})

export type OperatorRouter = typeof operatorRouter
