import type { AddCommand } from './command.ts'
import { addAuditListCommand } from './commands/audit-list.ts'
import { addAuditVerifyCommand } from './commands/audit-verify.ts'
import { addContractShowCommand } from './commands/contract/contract-show.ts'
import { addContractVerifyCommand } from './commands/contract/contract-verify.ts'
import { addDoctorCommand } from './commands/doctor.ts'
import { addEncryptionRotateCommand } from './commands/encryption-rotate.ts'
import { addEraseCommand } from './commands/erase.ts'
import { addEventsCloseCommand } from './commands/events/events-close.ts'
import { addEventsListCommand } from './commands/events/events-list.ts'
import { addEventsReleaseCommand } from './commands/events/events-release.ts'
import { addEventsReplayCommand } from './commands/events/events-replay.ts'
import { addEventsShowCommand } from './commands/events/events-show.ts'
import { addEventsTestCommand } from './commands/events/events-test.ts'
import { addReplaysCancelCommand } from './commands/events/replays-cancel.ts'
import { addReplaysListCommand } from './commands/events/replays-list.ts'
import { addReplaysShowCommand } from './commands/events/replays-show.ts'
import { addExplainCommand } from './commands/explain.ts'
import { addHandlersBackfillCommand } from './commands/handlers/handlers-backfill.ts'
import { addHandlersDiscardCommand } from './commands/handlers/handlers-discard.ts'
import { addHandlersListCommand } from './commands/handlers/handlers-list.ts'
import { addHandlersPauseCommand } from './commands/handlers/handlers-pause.ts'
import { addHandlersResumeCommand } from './commands/handlers/handlers-resume.ts'
import { addOverviewCommand } from './commands/overview.ts'
import { addProvidersListCommand } from './commands/providers/providers-list.ts'
import { addProvidersPauseCommand } from './commands/providers/providers-pause.ts'
import { addProvidersResumeCommand } from './commands/providers/providers-resume.ts'
import { addReceiptsListCommand } from './commands/receipts-list.ts'
import { addReceiptsReleaseCommand } from './commands/receipts-release.ts'
import { addRefusedCommand } from './commands/refused.ts'
import { addSendCommand } from './commands/send.ts'
import { addSignCommand } from './commands/sign.ts'
import { addSignInCommand } from './commands/sign-in.ts'
import { addVerifyCommand } from './commands/verify.ts'

/** Every command of `oncehook`. A new one is a file in `commands/` and a line here. */
export const commandTable: readonly AddCommand[] = [
  addSendCommand,
  addSignCommand,
  addVerifyCommand,
  addExplainCommand,
  addDoctorCommand,
  addSignInCommand,
  addOverviewCommand,
  addEventsListCommand,
  addEventsShowCommand,
  addEventsReplayCommand,
  addEventsCloseCommand,
  addEventsReleaseCommand,
  addEventsTestCommand,
  addEraseCommand,
  addEncryptionRotateCommand,
  addReplaysListCommand,
  addReplaysShowCommand,
  addReplaysCancelCommand,
  addReceiptsListCommand,
  addReceiptsReleaseCommand,
  addProvidersListCommand,
  addProvidersPauseCommand,
  addProvidersResumeCommand,
  addHandlersListCommand,
  addHandlersPauseCommand,
  addHandlersResumeCommand,
  addHandlersBackfillCommand,
  addHandlersDiscardCommand,
  addRefusedCommand,
  addAuditListCommand,
  addAuditVerifyCommand,
  addContractVerifyCommand,
  addContractShowCommand,
]
