import { STATUS_CODES } from 'node:http'
import { notFound } from '@oncehook/kernel/error-codes'
import { type AppError, toAppError } from '@oncehook/kernel/errors'
import { answerBeforeBody } from '@oncehook/kernel/http/answer-before-body'
import { errorBody } from '@oncehook/kernel/http/error-body'
import type { Logger } from '@oncehook/kernel/logger'
import type { Context, Middleware } from 'koa'
import { qualityOf } from './accept.ts'
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
  const problem = wantsProblem(ctx.req.headers.accept)
  ctx.type = problem ? PROBLEM : 'application/json; charset=utf-8'
  const content = problem ? JSON.stringify({ ...problemOf(error), ...(JSON.parse(body) as object) }) : body
  ctx.body = content
  if (error.headers.Connection !== 'close') return
  ctx.respond = false
  await answerBeforeBody(ctx.res, Buffer.from(content))
}

/** Only whoever names the type gets it, and not less gladly than plain JSON. */
function wantsProblem(accept: string | undefined): boolean {
  if (accept?.toLowerCase().includes(PROBLEM) !== true) return false
  const wanted = qualityOf(accept, PROBLEM)
  return wanted > 0 && wanted >= qualityOf(accept, 'application/json')
}

function problemOf({ status, message: detail }: AppError): object {
  return { type: 'about:blank', title: STATUS_CODES[status] ?? 'Error', status, detail }
}
