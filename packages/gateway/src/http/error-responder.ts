import { notFound } from '@oncehook/kernel/error-codes'
import { toAppError } from '@oncehook/kernel/errors'
import type { Logger } from '@oncehook/kernel/logger'
import type { Middleware } from 'koa'
import type { RequestState } from './request-context.ts'
import { writeError } from './write-error.ts'

/** Creates the outermost middleware: where a refusal becomes an answer. */
export function createErrorResponder(logger: Logger): Middleware<RequestState> {
  return async (ctx, next) => {
    try {
      await next()
      if (ctx.status === 404 && ctx.body === undefined) throw notFound()
    } catch (thrown) {
      const error = toAppError(thrown)
      if (error.code === 'internal') logger.error({ requestId: ctx.state.requestId, error: thrown }, 'request.failed')
      ctx.respond = false
      await writeError(ctx.res, error, ctx.state.requestId)
    }
  }
}
