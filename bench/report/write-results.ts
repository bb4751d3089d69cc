import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The results of a run that are stored. */
export interface Results {
  /** Everything that was measured. */
  readonly json: object
  readonly markdown: string
  readonly picture: string | null
}

/** Writes the results of a run that ended at `at` into `folder`, one file per format. Returns their names. */
export function writeResults(folder: string, at: Date, { json, markdown, picture }: Results): string[] {
  mkdirSync(folder, { recursive: true })
  const name = at.toISOString().slice(0, 19).replaceAll(':', '')
  const files = [
    [`${name}.json`, `${JSON.stringify({ at: at.toISOString(), ...json }, null, 2)}\n`],
    [`${name}.md`, markdown],
    ...(picture === null ? [] : [[`${name}.svg`, picture]]),
  ] as const
  for (const [file = '', content = ''] of files) writeFileSync(join(folder, file), content)
  return files.map(([file = '']) => file)
}
