import { runGateway } from '@oncehook/gateway/start/run-gateway'
import { recordSteps } from '@oncehook/gateway/testing/recording/record-steps'
import { endAtSignals } from '@oncehook/kernel/time/stop-signals'
import { loseAnswers } from './lose-answers.ts'
import { recordToFile } from './record-to-file.ts'

// A gateway that records its steps in the file that STEPS_FILE names.
endAtSignals(process)
const { STEPS_FILE = '', ...env } = process.env
const recording = recordSteps(recordToFile(STEPS_FILE))
const withLosses = {
  ...recording,
  inserts: (db: Parameters<typeof loseAnswers>[0]) => recording.inserts(loseAnswers(db)),
}
// A call carries one event, as in the model.
const limits = { dispatchBatch: 1 }
await runGateway({ env, fetch: globalThis.fetch, recording: withLosses, limits })
