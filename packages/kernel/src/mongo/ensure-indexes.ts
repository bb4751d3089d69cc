import { isDeepStrictEqual } from 'node:util'
import { type Collection, type Db, type Document, type IndexDescription, MongoServerError } from 'mongodb'
import { SettingsError } from '../settings.ts'

/** An index that a collection needs, known by its name. What it asks of the storage engine is a wish. */
export type NeededIndex = Pick<
  IndexDescription,
  'key' | 'storageEngine' | 'unique' | 'sparse' | 'partialFilterExpression' | 'expireAfterSeconds'
> & { readonly name: string }

/** The indexes of one collection. */
export interface NeededIndexes {
  readonly collection: string
  readonly indexes: readonly NeededIndex[]
}

const NAMESPACE_NOT_FOUND = 26
const NAMESPACE_EXISTS = 48
// Index options conflict, key specs conflict, cannot create index, duplicate key.
const FOR_A_PERSON = new Set([85, 86, 67, 11_000])
// Bad value, cannot create index, invalid options, invalid option of an index, and what hosted servers answer.
const REFUSED_WISH = new Set([2, 67, 72, 197, 8_000])

/**
 * Makes the indexes that are missing and compares the others with what is needed. Throws an Error that is none of the
 * settings while a unique one is being built: then it is to be tried again.
 * @throws SettingsError naming every index that has another shape or cannot be made
 */
export async function ensureIndexes(db: Db, needed: readonly NeededIndexes[]): Promise<void> {
  const problems = await Promise.all(needed.map((indexes) => ensureOf(db, indexes)))
  if (problems.flat().length > 0) throw new SettingsError(problems.flat())
}

async function ensureOf(db: Db, { collection: name, indexes }: NeededIndexes): Promise<string[]> {
  const collection = db.collection(name)
  const [present, building] = await Promise.all([
    indexes.length === 0 ? new Map<string, IndexDescription>() : readIndexes(collection),
    // The others only make reads quicker.
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

/** The indexes that a server lists although they are not there yet: its build goes on when whoever asked for it has gone. */
async function readBuilding(collection: Collection): Promise<ReadonlySet<string>> {
  try {
    const stages = [{ $collStats: { storageStats: {} } }, { $project: { 'storageStats.indexBuilds': 1 } }]
    return buildsIn(await collection.aggregate(stages).toArray())
  } catch (error) {
    // No such collection yet, no right to look, or a server that does not tell.
    if (error instanceof MongoServerError) return new Set()
    throw error
  }
}

/** The names of the indexes that are being built, out of the answers of `$collStats`: one of each shard. */
export function buildsIn(stats: readonly Document[]): ReadonlySet<string> {
  return new Set(stats.flatMap(({ storageStats }) => (storageStats?.indexBuilds ?? []) as string[]))
}

async function ensureCollection(db: Db, name: string): Promise<void> {
  try {
    await db.createCollection(name)
  } catch (error) {
    if (!(error instanceof MongoServerError) || error.code !== NAMESPACE_EXISTS) throw error
  }
}

/** One command reads the records once and waits for the disk once; false where it is refused, for whatever reason. */
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
    // Another version may have made it meanwhile, and asked something else of the storage engine.
    const [present, building] = await Promise.all([readIndexes(collection), readBuilding(collection)])
    const made = present.get(index.name)
    if (made !== undefined && index.unique && building.has(index.name)) throw stillBuilt(index, collection)
    if (made !== undefined) return differenceOf(made, index)
    return error.code === 11_000 ? 'cannot be made: there are duplicates already' : `cannot be made (${error.codeName})`
  }
}

/** A server with another engine, or a hosted one, may refuse what is asked of the engine: then the index is made without. */
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

// A collation is never needed: ids are opaque, compared byte for byte.
const SHAPE = ['key', 'unique', 'sparse', 'partialFilterExpression', 'expireAfterSeconds', 'collation'] as const

function differenceOf(found: IndexDescription, needed: IndexDescription): string | null {
  const different = SHAPE.filter((part) => !isDeepStrictEqual(plain(part, found), plain(part, needed)))
  return different.length === 0 ? null : `has another shape: ${different.join(', ')}`
}

/** False and absent are the same flag. In a key pattern the order of the members counts, elsewhere it does not. */
function plain(part: (typeof SHAPE)[number], index: IndexDescription): unknown {
  const value = index[part]
  if (part !== 'key') return value || value === 0 ? value : null
  return value instanceof Map ? [...value] : Object.entries(index.key)
}
