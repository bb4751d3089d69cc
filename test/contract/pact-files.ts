import { existsSync, globSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** The folder of the contracts that are committed. */
export const CONTRACTS = join(import.meta.dirname, '..', '..', 'contracts')

/** A condition that the provider creates before an interaction. */
export interface ProviderState {
  readonly name: string
  readonly params?: Readonly<Record<string, unknown>>
}

/** One request of a consumer and the answer that it relies on. */
interface Interaction {
  readonly description: string
  readonly providerStates?: readonly ProviderState[]
  readonly request: { readonly path: string; readonly body?: unknown }
  readonly response?: { readonly status: number }
}

/** The interactions of one consumer with one provider. */
export interface Pact {
  readonly consumer: { readonly name: string }
  readonly provider: { readonly name: string }
  readonly interactions: readonly Interaction[]
}

/**
 * The interactions of a pact in a fixed order, without the versions of tools: two of these are equal when
 * consumers ask for the same.
 */
export async function readPact(file: string): Promise<Pact> {
  const { consumer, provider, interactions } = JSON.parse(await readFile(file, 'utf8')) as Pact
  const sorted = interactions.toSorted(byDescription)
  return { consumer, provider, interactions: sorted }
}

function byDescription(a: Interaction, b: Interaction): number {
  return a.description < b.description ? -1 : 1
}

interface Written {
  readonly metadata: { readonly pactSpecification: { readonly version: string } }
}

/** Makes a generated pact the committed `target`. If it is a part, the other interactions of the committed one remain. */
export async function commitPact(
  file: string,
  target: string,
  isOfPart: (path: string) => boolean = () => true,
): Promise<void> {
  const { consumer, provider, interactions } = await readPact(file)
  const committed = existsSync(target) ? (await readPact(target)).interactions : []
  // A message has no request.
  const others = committed.filter(({ request }) => !isOfPart(request?.path ?? ''))
  const all = [...others, ...interactions].toSorted(byDescription)
  const { metadata } = JSON.parse(await readFile(file, 'utf8')) as Written
  // The versions of tools are left out.
  const { version } = metadata.pactSpecification
  const pact = { consumer, provider, interactions: all, metadata: { pactSpecification: { version } } }
  await mkdir(dirname(target), { recursive: true })
  await writeFile(target, `${JSON.stringify(pact, null, 2)}\n`)
}

/** A contract to verify: the current one, or that of a release whose consumers may still be running. */
export interface ContractFile {
  readonly name: string
  readonly file: string
}

/** The contracts of all consumers of a provider, those of earlier releases included. */
export function contractsOf(provider: string): ContractFile[] {
  const files = globSync([`*-${provider}.json`, `releases/*/*-${provider}.json`], { cwd: CONTRACTS }).toSorted()
  return files.map((name) => ({ name, file: join(CONTRACTS, name) }))
}
