import type { FulfilmentClient } from '../dispatch/fulfilment-client.ts'
import { createApp } from '../http/app.ts'
import { createRateLimit } from '../http/rate-limit.ts'
import type { Foundation } from './gateway-parts.ts'
import type { Front } from './start-front.ts'

/** Where the application is served, and whom it asks. */
export interface ServedApplication {
  readonly front: Front
  readonly fulfilment: FulfilmentClient
}

/** Serves what the public listener offers beside deliveries: the orders API, its description, checks of providers. */
export function serveApplication(
  { settings, logger, clock }: Foundation,
  { front, fulfilment }: ServedApplication,
): void {
  const app = createApp({
    logger,
    origins: settings.CORS_ORIGINS,
    webhooks: front.webhooks,
    orders: {
      fulfilment,
      tokens: settings.API_TOKENS,
      maxBodyBytes: settings.MAX_BODY_BYTES,
      limit: createRateLimit({
        name: 'api',
        limit: settings.RATE_LIMIT_API,
        windowSeconds: settings.RATE_LIMIT_WINDOW_SECONDS,
        clock,
      }),
    },
  })
  front.serve(app)
}
