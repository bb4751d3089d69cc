import type { Middleware } from 'koa'
import type { RequestState } from './request-context.ts'
import { type Resource, resourceAt } from './resources.ts'

const ALLOW_HEADERS = 'Content-Type, Idempotency-Key, If-Match, If-None-Match, Prefer, Authorization, X-Request-Id'
const EXPOSE_HEADERS =
  'ETag, Location, Content-Location, Retry-After, RateLimit, RateLimit-Policy, Idempotent-Replayed, Preference-Applied, Link, Allow, X-Request-Id'
const MAX_AGE_SECONDS = '600'
const PREFLIGHT_VARY = 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers'

/**
 * Creates the CORS middleware (Fetch standard, section 3.2) for an allow-list of origins, without credentials. It sets its
 * headers before anything can fail, so that errors have them too. An origin that is not listed gets none. Own code, because
 * `@koa/cors` allows the same methods for every path, and answers preflights for paths that do not exist.
 */
export function createCors(origins: ReadonlySet<string>): Middleware<RequestState> {
  return (ctx, next) => {
    const resource = resourceAt(ctx.path)
    if (resource?.cors !== true) return next()
    const preflight = ctx.method === 'OPTIONS' && ctx.req.headers['access-control-request-method'] !== undefined
    ctx.vary(preflight ? PREFLIGHT_VARY : 'Origin')
    const allowed = allowedOrigin(origins, ctx.req.headers.origin)
    if (allowed === null) return next()
    ctx.set('Access-Control-Allow-Origin', allowed)
    ctx.set(preflight ? preflightHeaders(resource) : { 'Access-Control-Expose-Headers': EXPOSE_HEADERS })
    return next()
  }
}

function allowedOrigin(origins: ReadonlySet<string>, origin: string | undefined): string | null {
  if (origin === undefined) return null
  if (origins.has('*')) return '*'
  return origins.has(origin) ? origin : null
}

function preflightHeaders({ methods }: Resource): Record<string, string> {
  return {
    'Access-Control-Allow-Methods': methods.join(', '),
    'Access-Control-Allow-Headers': ALLOW_HEADERS,
    'Access-Control-Max-Age': MAX_AGE_SECONDS,
  }
}
