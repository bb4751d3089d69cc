import type { Middleware } from 'koa'
import type { RequestState } from '../request-context.ts'
import { createOpenApiDocument } from './openapi-document.ts'

/** Creates `GET /api/openapi.json`. Every other path is passed to the next middleware. */
export function createOpenApiRoute(settings: { readonly maxBodyBytes: number }): Middleware<RequestState> {
  const document = JSON.stringify(createOpenApiDocument(settings))
  return async (ctx, next) => {
    if (ctx.path !== '/api/openapi.json') return next()
    ctx.set('Cache-Control', 'no-cache')
    ctx.type = 'application/json; charset=utf-8'
    ctx.body = document
  }
}
