import { startNaive } from './subjects/naive.ts'
import { startAccepting, startPaying } from './subjects/oncehook.ts'
import type { Laboratory, Subject } from './subjects/subject.ts'

/** One line of the comparison. */
export interface Row {
  readonly name: RowName
  readonly title: string
  /** Starts the subject with databases of its own, which carry `run` in their names. */
  readonly start: (laboratory: Laboratory, run: string) => Promise<Subject>
}

/** The rows by the names under which results are kept. */
export type RowName = 'naive' | 'accepting' | 'paying'

/** All rows, in the order in which each round takes them; the first one is what the others are compared with. */
export const ROWS: readonly Row[] = [
  { name: 'naive', title: 'Express, stripe, awaited insertOne', start: startNaive },
  { name: 'accepting', title: 'Oncehook, accepting alone', start: startAccepting },
  { name: 'paying', title: 'Oncehook, accept, apply, settle', start: startPaying },
]
