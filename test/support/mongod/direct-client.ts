import { MongoClient } from 'mongodb'

/** A client of one node of a set, whatever its role: it shows the data of this node, even if no majority has it. */
export function directClient(port: number): MongoClient {
  return new MongoClient(`mongodb://127.0.0.1:${port}/?directConnection=true`, { serverSelectionTimeoutMS: 5_000 })
}
