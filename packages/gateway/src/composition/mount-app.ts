import type { FulfilmentClient } from '../fulfilment/fulfilment-client.ts'
import { createApp } from '../http/app.ts'
import { createFailedLogins } from '../http/authentication/failed-logins.ts'
import type { OrderDeps } from '../http/orders/order-context.ts'
import { createRateLimit, type RateLimit } from '../http/rate-limit.ts'
import type { GatewayContext } from './gateway-context.ts'
import type { PublicListener } from './start-public-listener.ts'

/** The listener of the application, and the services that it uses. */
export interface MountedApp extends Pick<OrderDeps, 'recordChange'> {
  readonly listener: PublicListener
  readonly fulfilment: FulfilmentClient
}

/** Serves everything on the public listener except deliveries, such as the orders API and its OpenAPI document. */
export function mountApp(
  { settings, limits, logger, summaries, clock, metrics }: GatewayContext,
  { listener, fulfilment, recordChange }: MountedApp,
): void {
  const limitOf = (name: string, limit: number): RateLimit =>
    createRateLimit({ name, limit, windowSeconds: limits.rateWindowSeconds, clock })
  const app = createApp({
    logger,
    origins: settings.CORS_ORIGINS,
    webhooks: listener.webhooks,
    orders: {
      fulfilment,
      tokens: settings.API_TOKENS,
      maxBodyBytes: settings.MAX_BODY_BYTES,
      recordChange,
      clock,
      logger,
      limit: limitOf('api', settings.RATE_LIMIT_API),
      failedLogins: createFailedLogins({
        api: 'orders',
        limit: limitOf('failed', settings.RATE_LIMIT_FAILED),
        trustedProxyHops: settings.TRUSTED_PROXY_HOPS,
        ...{ logger, summaries },
        count: metrics.loginFailed,
      }),
    },
  })
  listener.serve(app)
}
