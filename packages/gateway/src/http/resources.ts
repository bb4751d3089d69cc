/** The methods that this server implements (RFC 9110 section 9.1). Every other method gets 501. */
export const METHODS = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

/** A method of this server. */
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

/** Every public resource. 405, OPTIONS, preflights, the OpenAPI document and docs/http.md all follow this table. */
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
