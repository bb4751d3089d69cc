import { createAudit } from '../operator/audit.ts'
import { createOperatorApi, type OperatorApi } from '../operator/operator-api.ts'
import { createReplays } from '../operator/replays.ts'
import type { Foundation } from './gateway-parts.ts'

/** Makes the operator API. */
export async function makeOperatorApi(foundation: Foundation): Promise<OperatorApi> {
  const { settings, logger, clock, providers, mongo, fulfilment, databaseErrors } = foundation
  const { db } = mongo.background
  return createOperatorApi({
    tokens: settings.OPERATOR_TOKENS,
    errors: databaseErrors,
    parts: {
      db,
      audit: createAudit(db),
      replays: createReplays(db),
      providers: providers.current,
      fulfilment: await fulfilment(),
      clock,
      logger,
    },
  })
}
