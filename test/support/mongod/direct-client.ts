import { MongoClient } from 'mongodb'

/** A client of one node of a set, whatever its role: what this node holds, also where no majority holds it. */
export function directClient(port: number): MongoClient {
  return new MongoClient(`mongodb://127.0.0.1:${port}/?directConnection=true`, { serverSelectionTimeoutMS: 5_000 })
}
