import { existsSync, globSync } from 'node:fs'
import { cp, mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describeFulfilment, type FulfilmentDescription } from './describe-fulfilment.ts'
import { describeHandler } from './describe-handler.ts'

/**
 * The providers of internal procedures, each with what describes it. `npm run fix` writes each description to
 * `contracts/<provider>.json`.
 */
export const DESCRIPTIONS: Readonly<Record<string, () => FulfilmentDescription>> = {
  fulfilment: describeFulfilment,
  handler: describeHandler,
}

const PATTERNS = ['*-*.json', 'messages/*.json']

/**
 * The file names of the contracts in a folder, those of messages included, and of the recorded service tokens. The description
 * has another form of name.
 */
export function contractNames(folder: string): string[] {
  return globSync(PATTERNS, { cwd: folder }).toSorted()
}

/** The release with the highest version. Undefined if none is recorded. */
export async function lastRelease(contracts: string): Promise<string | undefined> {
  const { compare } = new Intl.Collator('en', { numeric: true })
  const folder = join(contracts, 'releases')
  return existsSync(folder) ? (await readdir(folder)).toSorted(compare).at(-1) : undefined
}

/** The text of a description's file. */
export function describedText(description: FulfilmentDescription): string {
  return `${JSON.stringify(description, null, 2)}\n`
}

/**
 * Records what consumers rely on in a release: the contracts.
 * @throws if the release was recorded before, because its callers no longer change
 */
export async function recordRelease(contracts: string, version: string): Promise<void> {
  const folder = join(contracts, 'releases', version)
  await mkdir(join(contracts, 'releases'), { recursive: true })
  await mkdir(folder)
  for (const name of contractNames(contracts)) await cp(join(contracts, name), join(folder, name))
}
