import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Writes everything about a run that ended at `at` as one JSON file into `folder` and answers its path. */
export function writeResults(folder: string, at: Date, results: object): string {
  mkdirSync(folder, { recursive: true })
  const instant = at.toISOString()
  const file = join(folder, `${instant.slice(0, 19).replaceAll(':', '')}.json`)
  writeFileSync(file, `${JSON.stringify({ at: instant, ...results }, null, 2)}\n`)
  return file
}
