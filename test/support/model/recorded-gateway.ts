import { openSync, writeSync } from 'node:fs'
import { runGateway } from '@oncehook/gateway/run-gateway'
import { recordSteps } from '@oncehook/gateway/testing/recording/record-steps'
import { endAtSignals } from '@oncehook/kernel/stop-signals'
import { toLine } from './recorded-line.ts'

// A gateway that records its steps in the file that STEPS_FILE names. Each line is written at once, so that a kill loses
// none.
endAtSignals(process)
const { STEPS_FILE = '', ...env } = process.env
const file = openSync(STEPS_FILE, 'a')
let steps = 0
const recording = recordSteps((step, begun) => {
  steps += 1
  const place = { by: process.pid, id: steps }
  writeSync(file, toLine({ ...place, step, begun }))
  return (ended) => void writeSync(file, toLine({ ...place, ended }))
})
await runGateway({ env, heapIsBound: true, fetch: globalThis.fetch, recording })
