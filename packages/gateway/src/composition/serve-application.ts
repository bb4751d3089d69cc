import { createApp } from '../http/app.ts'
import { createRateLimit } from '../http/rate-limit.ts'
import type { Foundation } from './gateway-parts.ts'
import type { Front } from './start-front.ts'

/** Serves what the public listener offers beside deliveries: the orders API, its description, checks of providers. */
export async function serveApplication(foundation: Foundation, front: Front): Promise<void> {
  const { settings, logger, clock, fulfilment } = foundation
  front.serve(
    createApp({
      logger,
      origins: settings.CORS_ORIGINS,
      webhooks: front.webhooks,
      orders: {
        fulfilment: await fulfilment(),
        tokens: settings.API_TOKENS,
        maxBodyBytes: settings.MAX_BODY_BYTES,
        limit: createRateLimit({
          name: 'api',
          limit: settings.RATE_LIMIT_API,
          windowSeconds: settings.RATE_LIMIT_WINDOW_SECONDS,
          clock,
        }),
      },
    }),
  )
}
