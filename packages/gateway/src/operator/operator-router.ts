import { listAuditProcedure, verifyAuditProcedure } from './audit-procedures.ts'
import { encryptionStatusProcedure, rotateEncryptionProcedure } from './encryption-procedures.ts'
import { eraseProcedure } from './erase-procedure.ts'
import { closeEventProcedure, releaseEventProcedure } from './event-change-procedures.ts'
import { getEventProcedure, listEventsProcedure, reverifyEventProcedure } from './event-procedures.ts'
import { router } from './operator-trpc.ts'
import { overviewProcedure } from './overview-procedures.ts'
import { listProvidersProcedure } from './provider-procedures.ts'
import { listReceiptsProcedure, releaseReceiptProcedure } from './receipt-procedures.ts'
import { cancelReplayProcedure, getReplayProcedure, replayEventsProcedure } from './replay-procedures.ts'

/** All procedures of the operator, one line each. */
export const operatorRouter = router({
  overview: overviewProcedure,
  events: router({
    list: listEventsProcedure,
    get: getEventProcedure,
    replay: replayEventsProcedure,
    reverify: reverifyEventProcedure,
    close: closeEventProcedure,
    release: releaseEventProcedure,
  }),
  replays: router({ get: getReplayProcedure, cancel: cancelReplayProcedure }),
  erase: eraseProcedure,
  encryption: router({ status: encryptionStatusProcedure, rotate: rotateEncryptionProcedure }),
  providers: router({ list: listProvidersProcedure }),
  receipts: router({ list: listReceiptsProcedure, release: releaseReceiptProcedure }),
  audit: router({ list: listAuditProcedure, verify: verifyAuditProcedure }),
})

/** The type for clients of the operator API. */
export type OperatorRouter = typeof operatorRouter
