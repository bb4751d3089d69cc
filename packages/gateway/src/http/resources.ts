import { methodNotAllowed, methodNotImplemented, notFound } from '@oncehook/kernel/http/error-codes'
import type { Context, Middleware } from 'koa'
import type { RequestState } from './request-context.ts'

/** The methods that this server implements (RFC 9110 section 9.1). Every other method gets 501. */
const METHODS = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

export type Method = (typeof METHODS)[number]

/** A kind of resource: its paths, its methods, and whether scripts of allowed origins may use it. */
export interface Resource {
  readonly name: 'webhook' | 'orders' | 'order' | 'openapi' | 'health'
  readonly template: string
  readonly path: RegExp
  readonly methods: readonly Method[]
  /** Methods that only some of these resources support; the others answer 405. */
  readonly takenBySome?: readonly Method[]
  readonly cors: boolean
  /** The formats of PATCH, for `Accept-Patch` (RFC 5789 section 3.1). */
  readonly acceptPatch?: string
}

/** Every public resource. 405, OPTIONS, preflights, the OpenAPI document and docs/reference/http.md all follow this table. */
export const RESOURCES: readonly Resource[] = [
  {
    name: 'webhook',
    template: '/api/webhooks/{provider}',
    path: /^\/api\/webhooks\/[^/]*$/,
    methods: ['POST', 'OPTIONS'],
    takenBySome: ['GET'],
    cors: false,
  },
  {
    name: 'orders',
    template: '/api/orders',
    path: /^\/api\/orders$/,
    methods: ['GET', 'HEAD', 'POST', 'OPTIONS'],
    cors: true,
  },
  {
    name: 'order',
    template: '/api/orders/{id}',
    path: /^\/api\/orders\/[^/]+$/,
    methods: ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
    cors: true,
    acceptPatch: 'application/merge-patch+json, application/json',
  },
  {
    name: 'openapi',
    template: '/api/openapi.json',
    path: /^\/api\/openapi\.json$/,
    methods: ['GET', 'HEAD', 'OPTIONS'],
    cors: true,
  },
  { name: 'health', template: '/healthz', path: /^\/healthz$/, methods: ['GET', 'HEAD', 'OPTIONS'], cors: false },
]

/** The resource at a path, if there is one. Paths are case-sensitive. */
export function resourceAt(path: string): Resource | undefined {
  return RESOURCES.find((resource) => resource.path.test(path))
}

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

const ALLOW_HEADERS = 'Content-Type, Idempotency-Key, If-Match, If-None-Match, Authorization, X-Request-Id'
const EXPOSE_HEADERS =
  'ETag, Location, Content-Location, Retry-After, RateLimit, RateLimit-Policy, Idempotent-Replayed, Allow, X-Request-Id'
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
