import { parseJson } from '@oncehook/kernel/http/json'
import type { VerifiedDelivery } from '../delivery.ts'
import type { WebhookEvent } from '../event.ts'
import type { Provider } from '../provider.ts'
import type { ProviderSettings } from '../schemes/scheme.ts'
import { firstUnmet } from './conditions.ts'
import { resolvePointer } from './json-pointer.ts'
import { pointersOfMapping } from './mapping.ts'

/** What a sample event shows to be wrong with the settings that read it. It has no signature, and needs none. No value is quoted. */
export function sampleProblems(
  settings: Pick<ProviderSettings, 'sample' | 'read' | 'events' | 'expect'>,
  { readEvents, confirm }: Pick<Provider, 'readEvents' | 'confirm'>,
): string[] {
  const { sample } = settings
  if (sample === undefined) return []
  if (confirm !== undefined) return ['sample must be omitted: the values come from the API of the provider']
  const text = typeof sample === 'string' ? sample : JSON.stringify(sample)
  const body = parseJson(text)
  if (body === undefined) return ['sample is not JSON']
  const delivery = { rawBody: Buffer.from(text), rawHeaders: [], query: '', secretId: '', signedId: 'sample' }
  let events: readonly WebhookEvent[]
  try {
    events = readEvents(delivery as object as VerifiedDelivery)
  } catch {
    return [UNREADABLE]
  }
  if (events.length === 0) return ['sample has no event in it']
  const problems = events.flatMap((event) =>
    problemsOfEvent(event, resolvePointer(body, event.facts.pointer ?? ''), settings),
  )
  return [...new Set(problems)]
}

function problemsOfEvent(
  { type, facts }: WebhookEvent,
  document: unknown,
  { read = {}, events = {}, expect = {} }: Pick<ProviderSettings, 'read' | 'events' | 'expect'>,
): string[] {
  const problems = pointersOfMapping(read).flatMap(([name, pointer]) =>
    resolvePointer(document, pointer) === undefined ? [`sample has nothing at read.${name}`] : [],
  )
  // Only a type whose conditions the sample does not meet has kept the name that the settings map.
  const meaning = Object.hasOwn(events, type) ? events[type] : undefined
  const unmet = typeof meaning === 'object' ? firstUnmet(document, meaning.where) : null
  if (unmet !== null) problems.push(`sample does not meet the conditions of its type at ${unmet}`)
  const unexpected = firstUnmet(document, expect)
  if (unexpected !== null) problems.push(`sample does not meet expect at ${unexpected}`)
  if (problems.length > 0) return problems
  if (facts.withheld === 'unreadable') return [UNREADABLE]
  if (facts.unreadable !== undefined) return [WRONG_MONEY[facts.unreadable]]
  return read.time !== undefined && facts.occurredAt === undefined ? ['read.time finds no time in sample'] : []
}

const UNREADABLE = 'sample cannot be read: the id, the type or the object is none'
const WRONG_MONEY = {
  amount_mismatch: 'sample has no amount in the units of read.amountIn at the place of the amount',
  currency_mismatch: 'sample has no currency of three letters at the place of the currency',
  amount_missing: 'sample is a payment without an amount and a currency, which requireAmount asks for',
} as const
