import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CONTRACTS } from './pact-files.ts'

interface Catalogue {
  readonly states: readonly { readonly provider: string; readonly name: string }[]
}

/** The states of a provider in the published catalogue. None if the catalogue does not know the provider. */
export function publishedStates(provider: string): readonly string[] {
  const { states } = JSON.parse(readFileSync(join(CONTRACTS, 'states.json'), 'utf8')) as Catalogue
  return states.filter((state) => state.provider === provider).map(({ name }) => name)
}

/**
 * Compares the states that a test creates for a provider with the published catalogue, from which others write their pacts.
 * @throws if the provider is in the catalogue with other states
 */
export function demandPublished(provider: string, created: readonly string[]): void {
  const published = publishedStates(provider)
  if (published.length === 0) return
  const missing = created.filter((name) => !published.includes(name))
  const extra = published.filter((name) => !created.includes(name))
  if (missing.length === 0 && extra.length === 0) return
  throw new Error(
    [
      `contracts/states.json differs from the states of ${provider} that its test creates:`,
      ...missing.map((name) => `add "${name}" to the file`),
      ...extra.map((name) => `remove "${name}" from the file, or create it in the test`),
    ].join('\n'),
  )
}
