import { AbstractCursor, Collection, type Db, type DbOptions, type MongoClient } from 'mongodb'

/** Dependencies of a forwarding database. */
export interface ForwardOptions {
  /** The current client. */
  readonly client: () => MongoClient
  /** The name of the database. */
  readonly name: string
  /** Read concern, if it differs from the client's. */
  readonly options?: DbOptions
  /** Called with each error of a call to the client. The caller gets the error too. */
  readonly onError: (error: unknown, client: MongoClient) => void
}

/**
 * Creates a database that forwards each call to the current client, and so do its collections. References to it stay
 * valid when the client is replaced.
 */
export function forwardDatabase({ client, name, options, onError }: ForwardOptions): Db {
  let known = client().db(name, options)
  const current = (): Db => {
    if (known.client !== client()) known = client().db(name, options)
    return known
  }
  const watch: Watch = (promise) => {
    const called = client()
    promise.catch((error: unknown) => onError(error, called))
  }
  return forward(current, watch, (method, args) => {
    if (method !== 'collection') return null
    // Created again only for a new client.
    let made: { db: Db; collection: Collection } | null = null
    return () => {
      const db = current()
      if (made?.db !== db) made = { db, collection: db.collection(...(args as Parameters<Db['collection']>)) }
      return made.collection
    }
  })
}

type Watch = (promise: Promise<unknown>) => void
/** Resolves a part that a method returned, or null for a part that never changes. */
type FindPart = (method: string | symbol, args: unknown[]) => (() => object) | null

function forward<T extends object>(current: () => T, watch: Watch, findPart: FindPart = () => null): T {
  const forwarding: T = new Proxy(current(), {
    get(_, name) {
      const target = current()
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => {
        const result: unknown = Reflect.apply(value, target, args)
        if (result === target) return forwarding
        if (result instanceof Promise) watch(result)
        return isPart(result) ? forward(findPart(name, args) ?? (() => result), watch) : result
      }
    },
  })
  return forwarding
}

/** Whether calls of this object also reach the server. A cursor is iterated by its own generator. */
function isPart(result: unknown): result is object {
  if (result instanceof Collection || result instanceof AbstractCursor) return true
  return typeof result === 'object' && result !== null && Symbol.asyncIterator in result
}
