import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { contractNames } from '../release-files.ts'

/** A pact that is published: its file, and the names of both sides, which are the names at the broker. */
export interface PublishedPact {
  readonly file: string
  readonly consumer: string
  readonly provider: string
}

/** The providers that the tests verify. The APIs of payment providers are theirs to verify: their pacts stay here. */
const VERIFIED_PROVIDERS: readonly string[] = [
  'gateway',
  'fulfilment',
  'operator-api',
  'orders-api',
  'https-handler',
  'trpc-handler',
]

/** The pacts of a folder whose provider is verified here, those of messages included. */
export function publishedPacts(contracts: string): PublishedPact[] {
  const pacts = contractNames(contracts).flatMap((name) => {
    const file = join(contracts, name)
    const { consumer, provider } = JSON.parse(readFileSync(file, 'utf8')) as Partial<Sides>
    // The recorded tokens have no sides.
    return consumer && provider ? [{ file, consumer: consumer.name, provider: provider.name }] : []
  })
  return pacts.filter(({ provider }) => VERIFIED_PROVIDERS.includes(provider))
}

/** The names of all sides, each once. All have the version of the repository. */
export function participantsOf(pacts: readonly PublishedPact[]): string[] {
  return [...new Set(pacts.flatMap(({ consumer, provider }) => [consumer, provider]))].toSorted()
}

interface Sides {
  readonly consumer: { readonly name: string }
  readonly provider: { readonly name: string }
}
