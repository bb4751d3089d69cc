import { notFound } from '@oncehook/kernel/error-codes'
import { type AppError, toAppError } from '@oncehook/kernel/errors'
import type { Logger } from '@oncehook/kernel/logger'
import type { Context, Middleware } from 'koa'
import { answerBeforeBody } from './answer-before-body.ts'
import type { RequestState } from './request-context.ts'

/** The body of every error: a sentence for people, a code for programs, an id for both. */
export interface ErrorBody {
  readonly error: string
  readonly code: string
  readonly requestId: string
}

/** Creates the outermost middleware: the one place where a refusal becomes an answer. */
export function createErrorResponder(logger: Logger): Middleware<RequestState> {
  return async (ctx, next) => {
    try {
      await next()
      if (ctx.status === 404 && ctx.body === undefined) await respondWithError(ctx, notFound())
    } catch (thrown) {
      const error = toAppError(thrown)
      if (error.code === 'internal') logger.error({ requestId: ctx.state.requestId, error: thrown }, 'request.failed')
      await respondWithError(ctx, error)
    }
  }
}

/** Writes an error, headers that were set before stay. A body that has not been read is not read any more. */
export async function respondWithError(ctx: Context & { state: RequestState }, error: AppError): Promise<void> {
  const body: ErrorBody = { error: error.message, code: error.code, requestId: ctx.state.requestId }
  ctx.status = error.status
  ctx.set({ ...error.headers, 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' })
  ctx.type = 'application/json; charset=utf-8'
  ctx.body = JSON.stringify(body)
  if (error.headers.Connection === 'close') await answerBeforeBody(ctx)
}
