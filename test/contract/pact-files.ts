import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The folder of the contracts that are committed. */
export const CONTRACTS = join(import.meta.dirname, '..', '..', 'contracts')

interface PactFile {
  readonly consumer: { readonly name: string }
  readonly provider: { readonly name: string }
  readonly interactions: readonly { readonly description: string }[]
  readonly metadata: object
}

/**
 * The interactions of a pact in a form of their own order, without the versions of tools: two of these are equal when
 * consumers ask for the same.
 */
export async function readPact(folder: string, name: string): Promise<Omit<PactFile, 'metadata'>> {
  const { consumer, provider, interactions } = JSON.parse(await readFile(join(folder, name), 'utf8')) as PactFile
  const sorted = interactions.toSorted((a, b) => a.description.localeCompare(b.description))
  return { consumer, provider, interactions: sorted }
}

/** Takes a generated pact over as the committed one. */
export async function commitPact(folder: string, name: string): Promise<void> {
  const pact = await readPact(folder, name)
  const metadata = { pactSpecification: { version: '3.0.0' } }
  await writeFile(join(CONTRACTS, name), `${JSON.stringify({ ...pact, metadata }, null, 2)}\n`)
}
