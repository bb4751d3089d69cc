import type { Db } from 'mongodb'
import { pausedDueAt } from './paused-due-at.ts'

/** A provider whose events are stored but not sent, since when, by whom and why. */
export interface Pause {
  readonly provider: string
  /** By the database's clock. */
  readonly since: Date
  readonly by: string
  readonly reason: string
}

/** Paused providers, as this process knows them. Each has the due time that its waiting events get. */
export type PausedProviders = ReadonlyMap<string, Date>

/** The pauses of all providers. They are stored, so all gateways share them and a restart keeps them. */
export interface ProviderPauses {
  /** What the latest `refresh` found. */
  readonly current: PausedProviders
  /** Reads the pauses again. Call it every second. */
  refresh(): Promise<void>
  /** All pauses, in the order of the names. */
  list(): Promise<Pause[]>
  /** Pauses a provider. Resolves to false if it was already paused: then nothing is changed. */
  pause(pause: Omit<Pause, 'since'>): Promise<boolean>
  /** Resumes a provider. Resolves to false if it was not paused. */
  resume(provider: string): Promise<boolean>
}

interface PauseDocument extends Omit<Pause, 'provider'> {
  readonly _id: string
}

const PAUSES = 'provider_pauses'
const SEARCH_MS = 4_000

/**
 * Creates the view of one process. The reads of `db` must show only what a majority holds. Another collection may hold the
 * pauses of something else that has names.
 */
export function createProviderPauses(db: Db, collection: string = PAUSES): ProviderPauses {
  const pauses = db.collection<PauseDocument>(collection)
  let current: PausedProviders = new Map()
  let asked = 0
  let shown = 0
  const list = async (): Promise<Pause[]> => {
    const found = await pauses.find({}, { maxTimeMS: SEARCH_MS }).sort({ _id: 1 }).toArray()
    return found.map(({ _id, since, by, reason }) => ({ provider: _id, since, by, reason }))
  }
  const refresh = async (): Promise<void> => {
    asked += 1
    const own = asked
    const found = await list()
    // A read that began earlier but ended later must not hide a newer one.
    if (own < shown) return
    shown = own
    // The same map as long as nothing has changed, so that others see a change at once.
    if (found.length === current.size && found.every(({ provider }) => current.has(provider))) return
    current = new Map(found.map(({ provider }) => [provider, pausedDueAt(provider)]))
  }
  // The change is stored. If this read fails, the next one shows it.
  const refreshIfPossible = (): Promise<void> => refresh().catch(() => undefined)
  return {
    get current() {
      return current
    },
    refresh,
    list,
    async pause({ provider, by, reason }) {
      const added = { $mergeObjects: [{ since: '$$NOW' }, { $literal: { by, reason } }, '$$ROOT'] }
      const { upsertedCount } = await pauses.updateOne({ _id: provider }, [{ $replaceWith: added }], { upsert: true })
      await refreshIfPossible()
      return upsertedCount === 1
    },
    async resume(provider) {
      const { deletedCount } = await pauses.deleteOne({ _id: provider })
      await refreshIfPossible()
      return deletedCount === 1
    },
  }
}
