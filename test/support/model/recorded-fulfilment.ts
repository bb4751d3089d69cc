import { runFulfilment } from '@oncehook/fulfilment/run-fulfilment'
import { recordCalls } from '@oncehook/fulfilment/testing/recording/record-calls'
import { endAtSignals } from '@oncehook/kernel/time/stop-signals'
import { recordToFile } from './record-to-file.ts'

// Fulfilment that records its steps in the file that STEPS_FILE names.
endAtSignals(process)
const { STEPS_FILE = '', ...env } = process.env
const recording = recordCalls(recordToFile(STEPS_FILE))
await runFulfilment({ env, fetch: globalThis.fetch, recording })
