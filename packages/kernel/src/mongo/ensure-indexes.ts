import { isDeepStrictEqual } from 'node:util'
import { type Collection, type Db, type IndexDescription, MongoServerError } from 'mongodb'
import { SettingsError } from '../settings/settings.ts'

/** An index that a collection needs, identified by its name. Storage engine options are optional. */
export type NeededIndex = Pick<
  IndexDescription,
  'key' | 'storageEngine' | 'unique' | 'sparse' | 'partialFilterExpression' | 'expireAfterSeconds'
> & { readonly name: string }

export interface NeededIndexes {
  readonly collection: string
  readonly indexes: readonly NeededIndex[]
}

const NAMESPACE_NOT_FOUND = 26
const NAMESPACE_EXISTS = 48
// Index options conflict, key specs conflict, cannot create index, duplicate key.
const FOR_A_PERSON = new Set([85, 86, 67, 11_000])
// Bad value, cannot create index, invalid options, invalid index option, and the codes of hosted servers.
const REFUSED_WISH = new Set([2, 67, 72, 197, 8_000])

/**
 * Creates missing indexes and compares existing ones with their definitions. Throws an Error other than SettingsError
 * while a unique index is still being built; retry in that case.
 * @throws SettingsError that names every index with a different definition, or that cannot be created
 */
export async function ensureIndexes(db: Db, needed: readonly NeededIndexes[]): Promise<void> {
  const problems = await Promise.all(needed.map((indexes) => ensureOf(db, indexes)))
  if (problems.flat().length > 0) throw new SettingsError(problems.flat())
}

async function ensureOf(db: Db, { collection: name, indexes }: NeededIndexes): Promise<string[]> {
  const collection = db.collection(name)
  const [present, building] = await Promise.all([
    indexes.length === 0 ? new Map<string, IndexDescription>() : readIndexes(collection),
    // Other indexes only make reads faster.
    indexes.some(({ unique }) => unique) ? readBuilding(collection) : new Set<string>(),
    ensureCollection(db, name),
  ])
  const unfinished = indexes.find((index) => index.unique && building.has(index.name))
  if (unfinished !== undefined) throw stillBuilt(unfinished, collection)
  const missing = indexes.filter((index) => !present.has(index.name))
  const made = missing.length > 1 && (await createTogether(collection, missing))
  const problems: string[] = []
  for (const index of indexes) {
    const found = present.get(index.name)
    if (found === undefined && made) continue
    const problem = found === undefined ? await create(collection, index) : differenceOf(found, index)
    if (problem !== null) problems.push(`Index ${index.name} of ${name} ${problem}`)
  }
  return problems
}

function stillBuilt(index: NeededIndex, { collectionName }: Collection): Error {
  return new Error(`Index ${index.name} of ${collectionName} is still being built`)
}

async function readIndexes(collection: Collection): Promise<ReadonlyMap<string, IndexDescription>> {
  try {
    return new Map((await collection.indexes()).map((index) => [index.name ?? '', index]))
  } catch (error) {
    if (error instanceof MongoServerError && error.code === NAMESPACE_NOT_FOUND) return new Map()
    throw error
  }
}

/** Indexes that the server lists before they are complete. A build continues after its client has disconnected. */
async function readBuilding(collection: Collection): Promise<ReadonlySet<string>> {
  try {
    const stages = [{ $collStats: { storageStats: {} } }, { $project: { 'storageStats.indexBuilds': 1 } }]
    const stats = await collection.aggregate(stages).toArray()
    return new Set(stats.flatMap(({ storageStats }) => (storageStats?.indexBuilds ?? []) as string[]))
  } catch (error) {
    // The collection does not exist yet, permission is missing, or the server does not provide this.
    if (error instanceof MongoServerError) return new Set()
    throw error
  }
}

async function ensureCollection(db: Db, name: string): Promise<void> {
  try {
    await db.createCollection(name)
  } catch (error) {
    if (!(error instanceof MongoServerError) || error.code !== NAMESPACE_EXISTS) throw error
  }
}

/**
 * Creates all indexes with one command, which scans the records and syncs the disk once. False if the command fails
 * for any reason.
 */
async function createTogether(collection: Collection, indexes: readonly NeededIndex[]): Promise<boolean> {
  try {
    await collection.createIndexes([...indexes])
    return true
  } catch (error) {
    if (error instanceof MongoServerError) return false
    throw error
  }
}

async function create(collection: Collection, index: NeededIndex): Promise<string | null> {
  try {
    await createTuned(collection, index)
    return null
  } catch (error) {
    if (!isForAPerson(error)) throw error
    // Another version may have created it in the meantime with other storage engine options.
    const [present, building] = await Promise.all([readIndexes(collection), readBuilding(collection)])
    const made = present.get(index.name)
    if (made !== undefined && index.unique && building.has(index.name)) throw stillBuilt(index, collection)
    if (made !== undefined) return differenceOf(made, index)
    return error.code === 11_000
      ? 'cannot be created: duplicates already exist'
      : `cannot be created (${error.codeName})`
  }
}

/** Other storage engines and hosted servers may reject storage engine options. The index is then created without them. */
async function createTuned(collection: Collection, { storageEngine, ...index }: NeededIndex): Promise<void> {
  if (storageEngine !== undefined) {
    try {
      await collection.createIndexes([{ ...index, storageEngine }])
      return
    } catch (error) {
      if (!(error instanceof MongoServerError) || !REFUSED_WISH.has(Number(error.code))) throw error
    }
  }
  await collection.createIndexes([index])
}

function isForAPerson(error: unknown): error is MongoServerError {
  return error instanceof MongoServerError && FOR_A_PERSON.has(Number(error.code))
}

// A collation is never needed, because ids are opaque and compared byte by byte.
const SHAPE = ['key', 'unique', 'sparse', 'partialFilterExpression', 'expireAfterSeconds', 'collation'] as const

function differenceOf(found: IndexDescription, needed: IndexDescription): string | null {
  const different = SHAPE.filter((part) => !isDeepStrictEqual(plain(part, found), plain(part, needed)))
  return different.length === 0 ? null : `has another shape: ${different.join(', ')}`
}

/** False and absent are equal flags. The property order matters in a key pattern only. */
function plain(part: (typeof SHAPE)[number], index: IndexDescription): unknown {
  const value = index[part]
  if (part !== 'key') return value || value === 0 ? value : null
  return value instanceof Map ? [...value] : Object.entries(index.key)
}
