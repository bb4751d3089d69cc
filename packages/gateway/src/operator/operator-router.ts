import { listAuditProcedure, verifyAuditProcedure } from './audit/audit-procedures.ts'
import { encryptionStatusProcedure, rotateEncryptionProcedure } from './encryption/encryption-procedures.ts'
import { eraseProcedure } from './events/erase-procedure.ts'
import { closeEventProcedure, releaseEventProcedure } from './events/event-change-procedures.ts'
import {
  countEventsProcedure,
  getEventProcedure,
  listEventsProcedure,
  reverifyEventProcedure,
} from './events/event-procedures.ts'
import { backfillProcedure } from './handlers/backfill-procedure.ts'
import { discardTasksProcedure } from './handlers/discard-procedure.ts'
import { pauseHandlerProcedure, resumeHandlerProcedure } from './handlers/handler-pause-procedures.ts'
import { listHandlersProcedure } from './handlers/list-handlers-procedure.ts'
import { answerTimesProcedure } from './health/answer-times-procedure.ts'
import { answersProcedure } from './health/answers-procedure.ts'
import { providerHealthProcedure } from './health/provider-health-procedure.ts'
import { router } from './operator-trpc.ts'
import { overviewProcedure } from './overview-procedures.ts'
import { pauseProviderProcedure, resumeProviderProcedure } from './pause-procedures.ts'
import { listProvidersProcedure } from './provider-procedures.ts'
import { listReceiptsProcedure, releaseReceiptProcedure } from './receipt-procedures.ts'
import { countRefusalsProcedure, listRefusalsProcedure } from './refusal-procedures.ts'
import {
  cancelReplayProcedure,
  getReplayProcedure,
  listReplaysProcedure,
  replayEventsProcedure,
} from './replays/replay-procedures.ts'
import { createCodeProcedure, endSessionProcedure, meProcedure } from './sign-in/sign-in-procedures.ts'
import { tailProcedure } from './tail/tail-procedure.ts'
import { sendTestProcedure } from './test-events/send-test-procedure.ts'

/** All procedures of the operator, one line each. */
export const operatorRouter = router({
  me: meProcedure,
  signIn: router({ createCode: createCodeProcedure, end: endSessionProcedure }),
  overview: overviewProcedure,
  answers: answersProcedure,
  answerTimes: answerTimesProcedure,
  events: router({
    list: listEventsProcedure,
    counts: countEventsProcedure,
    tail: tailProcedure,
    get: getEventProcedure,
    replay: replayEventsProcedure,
    reverify: reverifyEventProcedure,
    sendTest: sendTestProcedure,
    close: closeEventProcedure,
    release: releaseEventProcedure,
  }),
  replays: router({ list: listReplaysProcedure, get: getReplayProcedure, cancel: cancelReplayProcedure }),
  erase: eraseProcedure,
  encryption: router({ status: encryptionStatusProcedure, rotate: rotateEncryptionProcedure }),
  providers: router({
    list: listProvidersProcedure,
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
  receipts: router({ list: listReceiptsProcedure, release: releaseReceiptProcedure }),
  audit: router({ list: listAuditProcedure, verify: verifyAuditProcedure }),
})

/** The type for clients of the operator API. */
export type OperatorRouter = typeof operatorRouter
