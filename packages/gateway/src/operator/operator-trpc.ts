import type { Clock } from '@oncehook/kernel/clock'
import { AppError } from '@oncehook/kernel/errors'
import type { Logger } from '@oncehook/kernel/logger'
import { formatTrpcError, toTrpcError } from '@oncehook/kernel/trpc/trpc-errors'
import { initTRPC } from '@trpc/server'
import type { Db } from 'mongodb'
import type { FulfilmentClient } from '../dispatch/fulfilment-client.ts'
import type { Providers } from '../providers/read-providers.ts'
import type { Audit } from './audit.ts'
import type { Replays } from './replays.ts'

/** What the operator's procedures work with. */
export interface OperatorParts {
  readonly db: Db
  readonly audit: Audit
  readonly replays: Replays
  readonly providers: () => Providers
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

/** The base of every procedure of the operator: catalogue errors keep their status. */
export const procedure = t.procedure.use(async ({ next }) => {
  const result = await next()
  if (!result.ok && result.error.cause instanceof AppError) throw toTrpcError(result.error.cause)
  return result
})
