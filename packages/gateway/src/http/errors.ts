import { notFound } from '@oncehook/kernel/http/error-codes'
import { toAppError } from '@oncehook/kernel/http/errors'
import { logFailure, sendError } from '@oncehook/kernel/http/server/send-error'
import type { Logger } from '@oncehook/kernel/log/logger'
import type { Middleware } from 'koa'
import type { FailedLogins } from './authentication.ts'
import type { RequestState } from './request-context.ts'
import { resourceAt } from './resources.ts'

/** Creates the middleware that turns errors into answers and log lines. */
export function createErrorResponder(
  logger: Logger,
  { isSummarised }: Pick<FailedLogins, 'isSummarised'>,
): Middleware<RequestState & { principal?: string }> {
  return async (ctx, next) => {
    const startedAt = performance.now()
    try {
      await next()
      if (ctx.status === 404 && ctx.body === undefined) throw notFound()
    } catch (thrown) {
      const { requestId, clientRequestId, principal } = ctx.state
      const ms = Math.round(performance.now() - startedAt)
      const route = resourceAt(ctx.path)?.template
      if (!isSummarised(thrown)) {
        logFailure(logger, thrown, { requestId, clientRequestId, method: ctx.method, route, principal, ms })
      }
      ctx.respond = false
      await sendError(ctx.res, toAppError(thrown), { requestId })
    }
  }
}
