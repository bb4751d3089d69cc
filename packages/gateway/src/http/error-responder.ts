import { STATUS_CODES } from 'node:http'
import { notFound } from '@oncehook/kernel/error-codes'
import { type AppError, toAppError } from '@oncehook/kernel/errors'
import { errorBody } from '@oncehook/kernel/http/framing-guard'
import type { Logger } from '@oncehook/kernel/logger'
import type { Context, Middleware } from 'koa'
import { answerBeforeBody } from './answer-before-body.ts'
import type { RequestState } from './request-context.ts'

/** Creates the outermost middleware: the one place where a refusal becomes an answer. */
export function createErrorResponder(logger: Logger): Middleware<RequestState> {
  return async (ctx, next) => {
    try {
      await next()
      if (ctx.status === 404 && ctx.body === undefined) throw notFound()
    } catch (thrown) {
      const error = toAppError(thrown)
      if (error.code === 'internal') logger.error({ requestId: ctx.state.requestId, error: thrown }, 'request.failed')
      await respondWithError(ctx, error)
    }
  }
}

const PROBLEM = 'application/problem+json'

/**
 * Writes an error; headers that were set before (CORS, RateLimit) stay. Whoever asks for it gets the same members in a
 * problem document (RFC 9457). A body that has not been read is not read any more.
 */
async function respondWithError(ctx: Context & { state: RequestState }, error: AppError): Promise<void> {
  const body = errorBody(error, ctx.state.requestId)
  ctx.status = error.status
  ctx.set({ ...error.headers, 'Cache-Control': 'no-store' })
  ctx.vary('Accept')
  if (wantsProblem(ctx)) {
    ctx.type = PROBLEM
    ctx.body = JSON.stringify({ ...problemOf(error), ...(JSON.parse(body) as object) })
  } else {
    ctx.type = 'application/json; charset=utf-8'
    ctx.body = body
  }
  if (error.headers.Connection === 'close') await answerBeforeBody(ctx)
}

function wantsProblem(ctx: Context): boolean {
  if (ctx.req.headers.accept?.includes(PROBLEM) !== true) return false
  return ctx.accepts(PROBLEM, 'application/json') === PROBLEM
}

function problemOf({ status, message: detail }: AppError): object {
  return { type: 'about:blank', title: STATUS_CODES[status] ?? 'Error', status, detail }
}
