import { notFound } from '@oncehook/kernel/http/error-codes'
import type { Middleware } from 'koa'
import packageFile from '../../../package.json' with { type: 'json' }
import type { RequestState } from '../../http/request-context.ts'
import { type Method, RESOURCES, type Resource } from '../../http/resources.ts'
import { PARAMETERS, type ParameterName, SCHEMAS } from './components.ts'
import {
  COLLECTION_OPERATIONS,
  GET_HEALTH,
  GET_OPENAPI,
  ITEM_OPERATIONS,
  type JsonObject,
  type Operation,
  RECEIVE_WEBHOOK,
} from './operations.ts'
import { type PlacedOperation, responsesOf } from './responses.ts'

const OPERATIONS: Readonly<Record<Resource['name'], Partial<Record<Method, Operation>>>> = {
  webhook: { POST: RECEIVE_WEBHOOK },
  orders: COLLECTION_OPERATIONS,
  order: ITEM_OPERATIONS,
  openapi: { GET: GET_OPENAPI },
  health: { GET: GET_HEALTH },
}

const DESCRIPTION = `The orders API, and the receiver of the webhooks that report their payments.

- Every error has the same three properties, and a code that never changes.
- A version is a strong ETag. PATCH requires it as If-Match; for PUT and DELETE it is optional.
- A request that gets a 5xx or a 429 may be repeated: a POST with the same Idempotency-Key, all others unchanged.
- A method that a path does not support gets 405 with Allow. \`OPTIONS *\` returns all methods of the server.
- Bodies are strict JSON (RFC 7493) in UTF-8: no duplicate property names, no numbers that a double cannot hold exactly.`

/**
 * Creates the OpenAPI 3.1 document of the public listener: each method of each resource in the table. Own code, because
 * `zod-openapi` needs the zod schemas of orders at run time, which only fulfilment has, and would shorten the other schemas
 * by 20 lines; the statuses, headers and error codes come from the resource table and the error catalogue either way.
 */
export function createOpenApiDocument({ maxBodyBytes }: { readonly maxBodyBytes: number }) {
  const paths = RESOURCES.map((resource) => [resource.template, toPathItem(resource)])
  return {
    openapi: '3.1.0',
    info: {
      title: 'Oncehook',
      version: packageFile.version,
      description: `${DESCRIPTION}\n- An order or a patch has at most ${maxBodyBytes} bytes.`,
      license: { name: 'Apache 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    paths: Object.fromEntries(paths),
    components: {
      schemas: SCHEMAS,
      parameters: PARAMETERS,
      securitySchemes: SECURITY_SCHEMES,
    },
  }
}

const SECURITY_SCHEMES = {
  bearer: { type: 'http', scheme: 'bearer', description: 'A token from the setting API_TOKENS (RFC 6750)' },
  signature: {
    type: 'apiKey',
    in: 'header',
    name: 'webhook-signature',
    description:
      'The signature of the delivery, in the scheme of the provider. This is the header of Standard Webhooks, which is ' +
      'used with webhook-id and webhook-timestamp. Other schemes use other headers, such as stripe-signature',
  },
}

/** The operations of a resource: one per method, without the checks of an endpoint by some providers. */
export function operationsOf(resource: Resource): PlacedOperation[] {
  return resource.methods.map((method) => ({ operation: operationOf(resource, method), method, resource }))
}

function toPathItem(resource: Resource): JsonObject {
  return Object.fromEntries(
    operationsOf(resource).map((placed) => [placed.method.toLowerCase(), toOperationObject(placed)]),
  )
}

function operationOf(resource: Resource, method: Method): Operation {
  const own = OPERATIONS[resource.name]
  if (method === 'OPTIONS') return optionsOf(resource)
  const found = method === 'HEAD' ? own.GET && toHead(own.GET) : own[method]
  if (found === undefined) throw new Error(`${method} ${resource.template} is not described`)
  return found
}

function toHead(get: Operation): Operation {
  return { ...get, operationId: `${get.operationId}Head`, summary: `${get.summary}: only the headers of the answer` }
}

const PREFLIGHT = ['Allow-Methods', 'Allow-Headers', 'Max-Age'].map((name) => `Access-Control-${name}`)
const SEGMENTS: Partial<Record<Resource['name'], ParameterName>> = { webhook: 'Provider', order: 'OrderSegment' }

function optionsOf({ name, cors, acceptPatch }: Resource): Operation {
  const segment = SEGMENTS[name]
  return {
    operationId: `${name}Options`,
    summary: 'Returns the supported methods; also answers the preflight of a browser',
    ...(segment === undefined ? {} : { parameters: [segment] }),
    answers: {
      204: {
        description: 'The methods are in Allow',
        headers: ['Allow', ...(acceptPatch === undefined ? [] : ['Accept-Patch']), ...(cors ? PREFLIGHT : [])],
      },
    },
    refusals: segment === undefined ? [] : [notFound],
  }
}

function toOperationObject(placed: PlacedOperation): JsonObject {
  const { operationId, summary, description, security, parameters, body } = placed.operation
  // What is undefined is no member of the JSON.
  return {
    ...{ operationId, summary, description },
    security: security === undefined ? [] : [{ [security]: [] }],
    parameters: parameters?.map((name) => ({ $ref: `#/components/parameters/${name}` })),
    requestBody: body && {
      required: true,
      content: Object.fromEntries(
        body.mediaTypes.map((type) => [type, { schema: body.schema, examples: body.examples }]),
      ),
    },
    responses: Object.fromEntries(responsesOf(placed).map(({ status, response }) => [status, response])),
  }
}

/** Creates `GET /api/openapi.json`. Every other path is passed to the next middleware. */
export function createOpenApiRoute(settings: { readonly maxBodyBytes: number }): Middleware<RequestState> {
  // Bytes, so that many slow readers share them.
  const document = Buffer.from(JSON.stringify(createOpenApiDocument(settings)))
  return async (ctx, next) => {
    if (ctx.path !== '/api/openapi.json') return next()
    ctx.set('Cache-Control', 'no-cache')
    ctx.type = 'application/json; charset=utf-8'
    ctx.body = document
  }
}
