import { AbstractCursor, Collection, type Db, type DbOptions, type MongoClient } from 'mongodb'

/** What stands behind a forwarding database. */
export interface ForwardOptions {
  /** The client that counts now. */
  readonly client: () => MongoClient
  /** The name of the database. */
  readonly name: string
  /** How it reads, where that is not how the client reads. */
  readonly options?: DbOptions
  /** Called with each error of a call that went to a client; the caller gets the error too. */
  readonly onError: (error: unknown, client: MongoClient) => void
}

/**
 * Creates a database that hands each call on to the current one, and so do its collections: what holds it, or a
 * collection of it, goes on working when the client behind it is replaced.
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
    // Made anew only for a new client.
    let made: { db: Db; collection: Collection } | null = null
    return () => {
      const db = current()
      if (made?.db !== db) made = { db, collection: db.collection(...(args as Parameters<Db['collection']>)) }
      return made.collection
    }
  })
}

type Watch = (promise: Promise<unknown>) => void
/** Yields where a part that a method returns stands now, or null for one that stays what it is. */
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

/** Whether calls of it go to the server too. A cursor is walked by a generator of its own. */
function isPart(result: unknown): result is object {
  if (result instanceof Collection || result instanceof AbstractCursor) return true
  return typeof result === 'object' && result !== null && Symbol.asyncIterator in result
}
