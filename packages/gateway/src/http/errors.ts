import type { ServerResponse } from 'node:http'
import { notFound } from '@oncehook/kernel/http/error-codes'
import { type AppError, toAppError } from '@oncehook/kernel/http/errors'
import { logRefused, sendError } from '@oncehook/kernel/http/server/send-error'
import type { Logger } from '@oncehook/kernel/log/logger'
import type { Middleware } from 'koa'
import type { FailedLogins } from './authentication.ts'
import { qualityOf } from './media-type.ts'
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
      const error = toAppError(thrown)
      const { requestId, clientRequestId, principal } = ctx.state
      if (error.code === 'internal') logger.error({ requestId, clientRequestId, error: thrown }, 'request.failed')
      else if (!isSummarised(thrown)) {
        const ms = Math.round(performance.now() - startedAt)
        logRefused(logger, {
          requestId,
          clientRequestId,
          error,
          method: ctx.method,
          route: resourceAt(ctx.path)?.template,
          principal,
          ms,
        })
      }
      ctx.respond = false
      await writeError(ctx.res, error, requestId)
    }
  }
}

const PROBLEM = 'application/problem+json'

/** Sends an error to a client of the public listener: as a problem document (RFC 9457) if the client prefers that. */
export function writeError(response: ServerResponse, error: AppError, requestId: string): Promise<void> {
  if (!response.headersSent) {
    const varies = response.getHeader('Vary')
    response.setHeader('Vary', varies === undefined ? 'Accept' : `${varies}, Accept`)
  }
  return sendError(response, error, { requestId, asProblem: prefersProblem(response.req.headers.accept) })
}

/** Whether the client lists problem+json, with a quality that is at least that of plain JSON. */
function prefersProblem(accept: string | undefined): boolean {
  if (accept?.toLowerCase().includes(PROBLEM) !== true) return false
  const wanted = qualityOf(accept, PROBLEM)
  return wanted > 0 && wanted >= qualityOf(accept, 'application/json')
}
