import { openSync, writeSync } from 'node:fs'
import { type RecordedLine, type RecordedNote, toLine } from './recorded-line.ts'

/** Writes that a step begins, and returns what writes its end. */
type BeginAnyStep = (step: NonNullable<RecordedLine['step']>, begun: RecordedNote) => (ended: RecordedNote) => void

/** Records the steps of this process in a file. Each line is written at once, so that a kill loses none. */
export function recordToFile(path: string): BeginAnyStep {
  const file = openSync(path, 'a')
  let steps = 0
  return (step, begun) => {
    steps += 1
    const place = { by: process.pid, id: steps }
    writeSync(file, toLine({ ...place, step, begun }))
    return (ended) => void writeSync(file, toLine({ ...place, ended }))
  }
}
