import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DESCRIPTIONS } from '../contracts/release-files.ts'

/**
 * Writes the JSON Schemas of every request and answer of the internal procedures to one file, with the version of the
 * release: `{ format: 1, version, dialect, providers: { <provider>: { procedures, errors } } }`.
 */
export async function writeSchemasFile(repository: string, file: string): Promise<void> {
  const { version } = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8')) as { version: string }
  const described = Object.entries(DESCRIPTIONS).map(([provider, describe]) => [provider, describe()])
  const dialect = 'https://json-schema.org/draft/2020-12/schema'
  await writeFile(
    file,
    `${JSON.stringify({ format: 1, version, dialect, providers: Object.fromEntries(described) })}\n`,
  )
}
