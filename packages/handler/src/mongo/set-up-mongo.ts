import type { Db } from 'mongodb'
import { COLLECTIONS, keysOf, messagesOf } from './mongo-documents.ts'

/** Creates the collections and indexes that are missing in the database of a URL, and returns a line for each collection. */
export async function setUpMongo(url: string): Promise<readonly string[]> {
  const { MongoClient } = await import('mongodb')
  const client = new MongoClient(url, { serverSelectionTimeoutMS: 10_000 })
  try {
    const db = client.db()
    const lines = [await create(db, COLLECTIONS.keys), await create(db, COLLECTIONS.outbox)]
    await keysOf(db).createIndex({ expiresAt: 1 }, { expireAfterSeconds: 0 })
    await messagesOf(db).createIndex({ handler: 1, dead: 1, dueAt: 1 })
    await messagesOf(db).createIndex({ handler: 1, dead: 1, createdAt: 1 })
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
    if (!(error instanceof Error && 'code' in error && error.code === EXISTS)) throw error
    return `The collection ${name} exists`
  }
}
