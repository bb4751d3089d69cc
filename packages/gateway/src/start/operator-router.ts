import { listAuditProcedure, verifyAuditProcedure } from '../operator/audit/audit-procedures.ts'
import {
  closeEventProcedure,
  countEventsProcedure,
  feedEventsProcedure,
  getEventProcedure,
  listEventsProcedure,
  releaseEventProcedure,
  reverifyEventProcedure,
} from '../operator/events/event-procedures.ts'
import {
  backfillProcedure,
  discardTasksProcedure,
  listHandlersProcedure,
  pauseHandlerProcedure,
  resumeHandlerProcedure,
} from '../operator/handlers/handler-procedures.ts'
import { minutesProcedure } from '../operator/health/minutes-procedure.ts'
import { providerHealthProcedure } from '../operator/health/provider-health.ts'
import { router } from '../operator/operator-trpc.ts'
import { correctOrderProcedure, getOrderProcedure } from '../operator/order-procedures.ts'
import { overviewProcedure } from '../operator/overview-procedures.ts'
import {
  listProvidersProcedure,
  pauseProviderProcedure,
  refusedSettingsProcedure,
  resumeProviderProcedure,
} from '../operator/providers/provider-procedures.ts'
import {
  listReceiptsProcedure,
  releaseAllReceiptsProcedure,
  releaseReceiptProcedure,
} from '../operator/receipt-procedures.ts'
import { countRefusalsProcedure, listRefusalsProcedure } from '../operator/refusal-procedures.ts'
import {
  cancelReplayProcedure,
  getReplayProcedure,
  listReplaysProcedure,
  replayEventsProcedure,
} from '../operator/replays/replay-procedures.ts'
import {
  createCodeProcedure,
  endSessionsProcedure,
  listSessionsProcedure,
  meProcedure,
  signOutProcedure,
} from '../operator/sign-in/sign-ins.ts'
import { sendTestProcedure, testTargetProcedure } from '../operator/test-events/send-test-procedure.ts'
import { eraseProcedure } from '../privacy/erasure.ts'
import { encryptionStatusProcedure, rotateEncryptionProcedure } from '../privacy/rotation.ts'

export const operatorRouter = router({
  me: meProcedure,
  signIn: router({ createCode: createCodeProcedure, end: signOutProcedure }),
  sessions: router({ list: listSessionsProcedure, end: endSessionsProcedure }),
  overview: overviewProcedure,
  minutes: minutesProcedure,
  events: router({
    list: listEventsProcedure,
    feed: feedEventsProcedure,
    counts: countEventsProcedure,
    get: getEventProcedure,
    replay: replayEventsProcedure,
    reverify: reverifyEventProcedure,
    sendTest: sendTestProcedure,
    testTarget: testTargetProcedure,
    close: closeEventProcedure,
    release: releaseEventProcedure,
  }),
  replays: router({ list: listReplaysProcedure, get: getReplayProcedure, cancel: cancelReplayProcedure }),
  erase: eraseProcedure,
  encryption: router({ status: encryptionStatusProcedure, rotate: rotateEncryptionProcedure }),
  providers: router({
    list: listProvidersProcedure,
    refusedSettings: refusedSettingsProcedure,
    health: providerHealthProcedure,
    pause: pauseProviderProcedure,
    resume: resumeProviderProcedure,
  }),
  handlers: router({
    list: listHandlersProcedure,
    pause: pauseHandlerProcedure,
    resume: resumeHandlerProcedure,
    backfill: backfillProcedure,
    discard: discardTasksProcedure,
  }),
  refusals: router({ list: listRefusalsProcedure, counts: countRefusalsProcedure }),
  receipts: router({
    list: listReceiptsProcedure,
    release: releaseReceiptProcedure,
    releaseAll: releaseAllReceiptsProcedure,
  }),
  orders: router({ get: getOrderProcedure, correct: correctOrderProcedure }),
  audit: router({ list: listAuditProcedure, verify: verifyAuditProcedure }),
})

export type OperatorRouter = typeof operatorRouter
