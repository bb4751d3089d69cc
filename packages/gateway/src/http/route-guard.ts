import { methodNotAllowed, methodNotImplemented, notFound } from '@oncehook/kernel/http/error-codes'
import type { Context, Middleware } from 'koa'
import type { RequestState } from './request-context.ts'
import { METHODS, type Method, type Resource, resourceAt } from './resources.ts'

/** Rejects methods that are not implemented (501), and answers `OPTIONS *` for the whole server (RFC 9110 section 9.3.7). */
export const refuseUnknownMethods: Middleware<RequestState> = async (ctx, next) => {
  if (!isImplemented(ctx.method)) throw methodNotImplemented({}, { headers: { Connection: 'close' } })
  if (ctx.req.url !== '*') return next()
  ctx.status = 204
  ctx.set('Allow', METHODS.join(', '))
}

/** Rejects unknown paths (404) and methods that a resource does not support (405), and answers OPTIONS. */
export const guardRoute: Middleware<RequestState> = async (ctx, next) => {
  const resource = resourceAt(ctx.path)
  if (resource === undefined) throw notFound()
  if (ctx.method === 'OPTIONS') return answerOptions(ctx, resource)
  const allowed = isImplemented(ctx.method) && resource.methods.includes(ctx.method)
  if (!allowed) throw methodNotAllowed({}, { headers: { Allow: resource.methods.join(', ') } })
  return next()
}

/** Answers 204 with the methods and patch formats of the resource. */
export function answerOptions(ctx: Context, { methods, acceptPatch }: Resource): void {
  ctx.status = 204
  ctx.set('Allow', methods.join(', '))
  if (acceptPatch !== undefined) ctx.set('Accept-Patch', acceptPatch)
}

function isImplemented(method: string): method is Method {
  return (METHODS as readonly string[]).includes(method)
}
