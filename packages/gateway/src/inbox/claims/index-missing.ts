import { MongoServerError } from 'mongodb'

const BAD_VALUE = 2

/** Whether the server refused a search because its hint names a missing index, or one that is not built yet. */
export function isIndexMissing(error: unknown): boolean {
  return error instanceof MongoServerError && error.code === BAD_VALUE && /\bhint\b/i.test(error.message)
}
