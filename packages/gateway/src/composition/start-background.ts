import { setTimeout as sleep } from 'node:timers/promises'
import { loadJose } from '@oncehook/kernel/load-jose'
import { addClockSkewGauge } from '@oncehook/kernel/mongo/clock-skew'
import { createKeyRegister } from '@oncehook/kernel/mongo/key-register'
import { createFailedLogins } from '../http/failed-logins.ts'
import { createRateLimit } from '../http/rate-limit.ts'
import { readInboxDepth } from '../inbox/inbox-depth.ts'
import { readRetention } from '../inbox/retention.ts'
import { addInboxGauges } from '../metrics.ts'
import { type AccessTokens, createAccessTokens } from '../operator/access-token.ts'
import { createIssuerKeys } from '../operator/issuer-keys.ts'
import { createOperatorApi, type OperatorApi } from '../operator/operator-api.ts'
import { createOrderAudit } from '../operator/order-audit.ts'
import { createReplays } from '../operator/replays.ts'
import type { Foundation } from './gateway-parts.ts'
import { serveApplication } from './serve-application.ts'
import type { Front } from './start-front.ts'
import { type Housekeeping, startHousekeeping } from './start-housekeeping.ts'

/** What goes on behind the deliveries. */
export interface Background {
  readonly operator: OperatorApi
  readonly housekeeping: Housekeeping
}

/**
 * Starts all that no delivery needs: the application behind the public listener, the operator API, the housekeeping; null
 * where a stop has come meanwhile. Loaded by itself, so that a start takes deliveries before it is.
 */
export async function startBackground(foundation: Foundation, front: Front): Promise<Background | null> {
  const { mongo, registry, lifecycle, fulfilment } = foundation
  await Promise.all([loadJose(), foundation.settings.providers.loadAllSchemes()])
  const client = await fulfilment()
  const orderAudit = createOrderAudit(foundation.audit, { logger: foundation.logger, wait: sleep })
  serveApplication(foundation, { front, fulfilment: client, recordChange: orderAudit.record })
  await mongo.background.open()
  if (lifecycle.isStopping) return null
  addInboxGauges(registry, () => readInboxDepth(mongo.background.db))
  addClockSkewGauge(registry, { db: mongo.background.db, clock: foundation.clock })
  // An operator acts on what is shown.
  const db = mongo.background.durableDb
  const keyRegister = createKeyRegister({
    db,
    encryption: foundation.encryption,
    now: () => performance.now(),
    processId: foundation.owner,
  })
  const { settings, logger, clock, fetch, providers, databaseErrors, audit, encryption } = foundation
  const operator = createOperatorApi({
    tokens: { holders: settings.OPERATOR_TOKENS, accessTokens: await openAccessTokens(foundation) },
    failedLogins: createFailedLogins({
      api: 'operator',
      limit: createRateLimit({
        ...{ name: 'failed', limit: settings.RATE_LIMIT_FAILED, clock },
        windowSeconds: settings.RATE_LIMIT_WINDOW_SECONDS,
      }),
      // Nobody else stands before the private listener.
      trustedProxyHops: 0,
      logger,
      count: foundation.metrics.loginFailed,
    }),
    errors: databaseErrors,
    parts: {
      ...{ db, encryption, keyRegister, audit, replays: createReplays(db), fulfilment: client },
      ...{ providers: providers.current, fetch, retention: readRetention(settings), clock, logger },
    },
  })
  return { operator, housekeeping: [...startHousekeeping(foundation, keyRegister), orderAudit] }
}

/** The issuer is asked at once, so that the log shows soon whether it answers; the start does not wait for that. */
async function openAccessTokens({ settings, fetch, clock, logger }: Foundation): Promise<AccessTokens | null> {
  const { operatorIssuer } = settings
  if (operatorIssuer === null) return null
  const keys = await createIssuerKeys({ issuer: operatorIssuer.issuer, fetch, clock, logger })
  // Whatever fails is in the log already.
  keys.reload().catch(() => undefined)
  return createAccessTokens({ issuer: operatorIssuer, keys: keys.find, clock })
}
