import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'

/** A test in the results of a run, as `scripts/test.ts --json` writes them. */
export interface Result {
  readonly file: string
  /** Null for what failed as a whole file or suite. */
  readonly name: string | null
  readonly state: 'passed' | 'failed' | 'skipped'
  readonly reason?: string
}

/** How a test did in all its runs. */
interface Row {
  readonly runs: number
  readonly failures: number
  /** How often it has passed since it failed. */
  readonly passedSince: number
  /** The first line of its last error, and the seed of that run. */
  readonly error?: string
  readonly seed?: number
}

/** By the file and the name of a test. */
export type Table = Readonly<Record<string, Row>>

const NEW: Row = { runs: 0, failures: 0, passedSince: 0 }

/** Adds the results of a run. */
export function addRun(table: Table, results: readonly Result[], seed: number): Table {
  const rows: Record<string, Row> = { ...table }
  const ran = results.filter(({ state }) => state !== 'skipped')
  const broken = new Set(ran.filter(({ name }) => name === null).map(({ file }) => file))
  const whole = [...new Set(ran.map(({ file }) => file))].filter((file) => !broken.has(file))
  const ofFiles = whole.map((file): Result => ({ file, name: null, state: 'passed' }))
  for (const { file, name, state, reason = 'no reason' } of [...ran, ...ofFiles]) {
    const key = name === null ? file : `${file} > ${name}`
    const row = rows[key] ?? NEW
    rows[key] =
      state === 'passed'
        ? { ...row, runs: row.runs + 1, passedSince: row.passedSince + 1 }
        : { runs: row.runs + 1, failures: row.failures + 1, passedSince: 0, error: reason, seed }
  }
  return rows
}

/** Lines about each test that failed, the most frequent first, and about all of them. */
export function describeTable(table: Table): string[] {
  const failed = Object.entries(table)
    .filter(([, { failures }]) => failures > 0)
    .toSorted(([, one], [, other]) => other.failures / other.runs - one.failures / one.runs)
  const lines = failed.flatMap(([key, { runs, failures, passedSince, error, seed }]) => [
    `Failed ${failures} of ${runs}, and passed ${passedSince} times since: ${key}`,
    `  ${error} (seed ${seed})`,
  ])
  return [
    ...lines,
    `${Object.keys(table).length} tests and files have run, ${failed.length} of them failed at least once`,
  ]
}

export function readTable(file: string): Table {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
}

export function writeTable(file: string, table: Table): void {
  writeFileSync(`${file}.part`, JSON.stringify(table, null, 1))
  renameSync(`${file}.part`, file)
}
