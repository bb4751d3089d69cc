import type { Logger } from '@oncehook/kernel/log/logger'
import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import { msSince } from '@oncehook/queue/expressions'
import type { Provider } from '@oncehook/webhooks/providers'
import type { Db } from 'mongodb'
import { createPeriodicFlush } from './periodic-flush.ts'

/** What is counted for a provider: deliveries by outcome, and matches of each secret. */
type CounterKind = 'delivery' | 'secret'

export interface ProviderCounter {
  readonly _id: { readonly provider: string; readonly kind: CounterKind; readonly name: string }
  readonly count: number
  readonly lastAt: Date
  /** The longest time between two writes, in milliseconds. It halves every week, so that an old pause is forgotten. */
  readonly longestGapMs: number
  readonly gapsSince: Date
}

export const PROVIDER_STATS = 'tallies'

// Providers, outcomes and secrets are few. Beyond this number, further names are not counted.
const MAX_NAMES = 2_000

export type ProviderStats = ReturnType<typeof createProviderStats>

/** Counts for operators, gathered in memory and added up in the database. They are statistics, not promises. */
export function createProviderStats(db: Db, logger: Logger, flushMs: number) {
  let counts = new Map<string, number>()
  const { stop } = createPeriodicFlush(async () => {
    const batch = [...counts]
    counts = new Map()
    if (batch.length > 0) {
      await write(db, batch).catch((error: unknown) => logger.warn({ error }, 'provider-stats.dropped'))
    }
  }, flushMs)
  return {
    add(provider: string, kind: CounterKind, name: string): void {
      const key = `${provider}\n${kind}\n${name}`
      const count = counts.get(key)
      if (count !== undefined || counts.size < MAX_NAMES) counts.set(key, (count ?? 0) + 1)
    },
    stop,
  }
}

async function write(db: Db, batch: readonly (readonly [string, number])[]): Promise<void> {
  const updates = batch.map(([key, count]) => {
    const [provider, kind, name] = key.split('\n')
    const added = { $add: [{ $ifNull: ['$count', 0] }, count] }
    const u = [{ $set: { count: added, lastAt: '$$NOW', longestGapMs: LONGEST_GAP, gapsSince: GAPS_SINCE } }]
    return { q: { _id: { provider, kind, name } }, u, upsert: true }
  })
  await bulkUpdate(db, { update: PROVIDER_STATS, updates })
}

const HALF_LIFE_MS = 7 * 86_400_000
const GAP = msSince('lastAt')
const FADED = { $multiply: [{ $ifNull: ['$longestGapMs', 0] }, { $pow: [0.5, { $divide: [GAP, HALF_LIFE_MS] }] }] }
const LONGEST_GAP = { $max: [GAP, FADED] }
const GAPS_SINCE = { $ifNull: ['$gapsSince', '$$NOW'] }

/** The secrets of a provider that expire within a time after `now`, and when they last matched. Both are in milliseconds. */
export function findEnding(
  secrets: Provider['secrets'],
  stats: readonly ProviderCounter[],
  { now, withinMs }: { readonly now: number; readonly withinMs: number },
) {
  const lastMatch = new Map(
    stats.filter(({ _id }) => _id.kind === 'secret').map(({ _id, lastAt }) => [_id.name, lastAt.toISOString()]),
  )
  return secrets.flatMap(({ id, notAfter }) =>
    notAfter !== null && notAfter > now && notAfter - now <= withinMs
      ? [{ id, notAfter: new Date(notAfter).toISOString(), lastMatchedAt: lastMatch.get(id) ?? null }]
      : [],
  )
}
