import type { Db } from 'mongodb'
import { COLLECTIONS, keysOf, messagesOf } from './mongo-documents.ts'

// By default, the command would wait for members that are down.
const BUILD = { commitQuorum: 'majority' } as const

/** Creates the collections and indexes that are missing in the database of a URL. Returns a line for each collection. */
export async function setUpMongo(url: string): Promise<readonly string[]> {
  const { MongoClient } = await import('mongodb')
  const client = new MongoClient(url, { serverSelectionTimeoutMS: 10_000 })
  try {
    const db = client.db()
    const lines = [await create(db, COLLECTIONS.keys), await create(db, COLLECTIONS.outbox)]
    await keysOf(db).createIndex({ expiresAt: 1 }, { expireAfterSeconds: 0, ...BUILD })
    // Finds the first due messages of some names, however many of other names are due.
    await messagesOf(db).createIndex({ handler: 1, dead: 1, name: 1, dueAt: 1 }, BUILD)
    await messagesOf(db).createIndex({ handler: 1, dead: 1, createdAt: 1 }, BUILD)
    return lines
  } finally {
    await client.close()
  }
}

const EXISTS = 48

async function create(db: Db, name: string): Promise<string> {
  try {
    await db.createCollection(name)
    return `Created the collection ${name}`
  } catch (error) {
    if (codeOf(error) !== EXISTS) throw error
    return `The collection ${name} exists`
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
