import { type Document, MongoError, MongoWriteConcernError } from 'mongodb'
import type { Registry } from 'prom-client'
import { Counter } from 'prom-client'
import { DUPLICATE_KEY, errorClass } from './write-outcome.ts'

export type DatabaseErrors = ReturnType<typeof createDatabaseErrors>

const MAX_CHAIN = 8

/** Creates the counter `oncehook_database_errors_total` in a registry. It ignores errors that are not of the driver. */
export function createDatabaseErrors(registry: Registry) {
  const errors = new Counter({
    name: 'oncehook_database_errors_total',
    help: 'MongoDB errors by class: server_ or write_concern_ (no majority confirmed a write) with the code, otherwise the name of the error of the driver, such as MongoNetworkError',
    labelNames: ['class'],
    registers: [registry],
  })
  const count = (error: unknown): void => {
    const cause = driverErrorIn(error)
    if (cause === null) return
    errors.inc({ class: classOf(cause) })
    counted.onError(cause)
  }
  const counted = {
    /** Called with each counted driver error. */
    onError: (_error: unknown): void => undefined,
    /** Counts a driver error, including one that is the cause of another error. */
    count,
    /** Counts the errors in the reply of a write command, which does not throw. */
    countReply({ writeConcernError, writeErrors = [] }: Document): void {
      if (writeConcernError !== undefined) errors.inc({ class: `write_concern_${writeConcernError.code}` })
      for (const { code } of writeErrors as { code: number }[]) {
        if (code !== DUPLICATE_KEY) errors.inc({ class: `server_${code}` })
      }
    },
    /** Wraps an object so that errors thrown by its methods are counted. */
    watch: <T extends object>(methods: T): T => watched(methods, count),
  }
  return counted
}

/** For most calls the driver throws if the reply reports a missing majority. */
function classOf(error: MongoError): string {
  return error instanceof MongoWriteConcernError ? `write_concern_${error.code}` : errorClass(error)
}

function driverErrorIn(error: unknown): MongoError | null {
  let candidate = error
  for (let depth = 0; depth < MAX_CHAIN && candidate instanceof Error; depth += 1) {
    if (candidate instanceof MongoError) return candidate
    candidate = candidate.cause
  }
  return null
}

function watched<T extends object>(methods: T, count: (error: unknown) => void): T {
  const entries = Object.entries(methods).map(([name, method]: [string, unknown]) => {
    if (typeof method !== 'function') return [name, method]
    const counting = async (...args: unknown[]): Promise<unknown> => {
      try {
        return await method.apply(methods, args)
      } catch (error) {
        count(error)
        throw error
      }
    }
    return [name, counting]
  })
  return Object.fromEntries(entries) as T
}
