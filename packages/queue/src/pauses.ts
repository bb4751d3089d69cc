import { hash } from 'node:crypto'
import type { Db } from 'mongodb'

/*
 * Pauses: the tasks of a paused provider, or of a paused handler, are stored but not sent. The pauses are stored, so all processes
 * share them and a restart keeps them.
 */

export interface Pause {
  readonly name: string
  readonly since: Date
  readonly by: string
  readonly reason: string
}

/** What is paused, as this process knows it. Each has the due time that waiting tasks of that provider get. */
export type Paused = ReadonlyMap<string, Date>

interface PauseDocument extends Omit<Pause, 'name'> {
  readonly _id: string
}

const SEARCH_MS = 4_000

/** The pauses of all providers, or of all handlers. The reads of the database must show only what a majority holds. */
export class Pauses {
  readonly #collection
  #current: Paused = new Map()
  #asked = 0
  #shown = 0

  constructor(db: Db, collection: 'provider_pauses' | 'handler_pauses') {
    this.#collection = db.collection<PauseDocument>(collection)
  }

  get current(): Paused {
    return this.#current
  }

  /** Reads the pauses again. Call it every second. */
  async refresh(): Promise<void> {
    this.#asked += 1
    const own = this.#asked
    const found = await this.list()
    // A read that began earlier but ended later must not hide a newer one.
    if (own < this.#shown) return
    this.#shown = own
    // The same map as long as nothing has changed, so that others see a change at once.
    if (found.length === this.#current.size && found.every(({ name }) => this.#current.has(name))) return
    this.#current = new Map(found.map(({ name }) => [name, pausedDueAt(name)]))
  }

  async list(): Promise<Pause[]> {
    const found = await this.#collection.find({}, { maxTimeMS: SEARCH_MS }).sort({ _id: 1 }).toArray()
    return found.map(({ _id: name, since, by, reason }) => ({ name, since, by, reason }))
  }

  /** Resolves to false if it was already paused: then nothing is changed. */
  async pause({ name, by, reason }: Omit<Pause, 'since'>): Promise<boolean> {
    const added = { $mergeObjects: [{ since: '$$NOW' }, { $literal: { by, reason } }, '$$ROOT'] }
    const update = [{ $replaceWith: added }]
    const { upsertedCount } = await this.#collection.updateOne({ _id: name }, update, { upsert: true })
    await this.#refreshIfPossible()
    return upsertedCount === 1
  }

  /** Resolves to false if it was not paused. */
  async resume(name: string): Promise<boolean> {
    const { deletedCount } = await this.#collection.deleteOne({ _id: name })
    await this.#refreshIfPossible()
    return deletedCount === 1
  }

  /** The change is stored. If this read fails, the next one shows it. */
  #refreshIfPossible(): Promise<void> {
    return this.refresh().catch(() => undefined)
  }
}

const FIRST_MS = Date.UTC(7000, 0, 1)
// 46 bits of milliseconds are 2,230 years: all years have four digits, which every driver can read.
const BITS = 46

/** The earliest due time that marks a task of a paused provider. No retry is ever due that late. */
export const FIRST_PAUSED_DUE_AT = new Date(FIRST_MS)

/**
 * The due time of the tasks that wait while their provider is paused. Each provider has its own, so that one range of
 * the index of due tasks holds all of them, and the search skips it. Once the provider is resumed, the search
 * takes that range as due: nothing has to be written for it.
 */
export function pausedDueAt(provider: string): Date {
  const digest = hash('sha256', provider, 'buffer').readBigUInt64BE()
  return new Date(FIRST_MS + Number(BigInt.asUintN(BITS, digest)))
}
