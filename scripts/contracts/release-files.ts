import { globSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Release } from './check-release.ts'
import { describeFulfilment, type FulfilmentDescription } from './describe-fulfilment.ts'
import { readRecordedCalls } from './recorded-calls.ts'

const DESCRIPTION = 'fulfilment.json'

const PATTERNS = ['*-*.json', 'messages/*.json']

/**
 * The file names of the contracts in a folder, those of messages included, and of the recorded service tokens. The description
 * has another form of name.
 */
export function contractNames(folder: string): string[] {
  return globSync(PATTERNS, { cwd: folder }).toSorted()
}

/** The names of the recorded releases. */
export async function releaseNames(contracts: string): Promise<string[]> {
  return (await readdir(join(contracts, 'releases'))).toSorted()
}

/**
 * Records what consumers rely on in a release: the contracts, and a description of fulfilment.
 * @throws if the release was recorded before, because its callers no longer change
 */
export async function recordRelease(contracts: string, version: string): Promise<void> {
  const folder = join(contracts, 'releases', version)
  await mkdir(join(contracts, 'releases'), { recursive: true })
  await mkdir(folder)
  await writeFile(join(folder, DESCRIPTION), `${JSON.stringify(describeFulfilment(), null, 2)}\n`)
  for (const name of contractNames(contracts)) await cp(join(contracts, name), join(folder, name))
}

/** Reads what a release recorded. */
export async function readRelease(contracts: string, version: string): Promise<Release> {
  const folder = join(contracts, 'releases', version)
  const description = (await readJson(join(folder, DESCRIPTION))) as FulfilmentDescription
  const names = contractNames(folder).filter((name) => /^[^/]+-fulfilment\.json$/.test(name))
  const pacts = await Promise.all(names.map((name) => readJson(join(folder, name))))
  return { version, description, consumers: pacts.map(readRecordedCalls) }
}

async function readJson(file: string): Promise<unknown> {
  return JSON.parse(await readFile(file, 'utf8'))
}
