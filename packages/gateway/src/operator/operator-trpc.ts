import type { Clock } from '@oncehook/kernel/clock'
import { AppError } from '@oncehook/kernel/errors'
import type { Logger } from '@oncehook/kernel/logger'
import { toUnavailable } from '@oncehook/kernel/mongo/write-outcome'
import { formatTrpcError, toTrpcError } from '@oncehook/kernel/trpc/trpc-errors'
import { initTRPC } from '@trpc/server'
import { type Db, MongoServerError } from 'mongodb'
import type { FulfilmentClient } from '../dispatch/fulfilment-client.ts'
import { searchTooWide } from '../errors.ts'
import type { Providers } from '../providers/read-providers.ts'
import type { Audit } from './audit.ts'
import type { Replays } from './replays.ts'

/** What the operator's procedures work with. */
export interface OperatorParts {
  readonly db: Db
  readonly audit: Audit
  readonly replays: Replays
  readonly providers: () => Providers
  /** By which certificates are read that a check needs. */
  readonly fetch: typeof globalThis.fetch
  /** Milliseconds for which a settled event is kept. */
  readonly retentionMs: number
  readonly fulfilment: FulfilmentClient
  readonly clock: Clock
  readonly logger: Logger
}

/** One call: the parts, and whose token it carried. */
export interface OperatorContext extends OperatorParts {
  readonly operator: string
  readonly requestId: string
}

const t = initTRPC.context<OperatorContext>().create({ isDev: false, errorFormatter: formatTrpcError })

/** Joins the operator's procedures into a router. */
export const router = t.router

/** Milliseconds that a search of an operator may take the database. */
export const SEARCH_MS = 5_000

/** The base of every procedure of the operator: catalogue errors keep their status, a database that is away is 503. */
export const procedure = t.procedure.use(async ({ next }) => {
  const result = await next()
  if (result.ok) return result
  const known = toKnownError(result.error.cause)
  if (known !== null) throw toTrpcError(known)
  return result
})

const MAX_TIME_EXPIRED = 50

function toKnownError(cause: unknown): AppError | null {
  if (cause instanceof AppError) return cause
  if (cause instanceof MongoServerError && cause.code === MAX_TIME_EXPIRED) return searchTooWide({}, { cause })
  return toUnavailable(cause)
}
