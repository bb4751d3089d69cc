import { RESOURCES } from '@oncehook/gateway/http/resources'
import { createOpenApiDocument } from '@oncehook/gateway/orders/openapi/openapi-document'
import { afterAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type HttpCall, startHttpSystem } from '../support/http/http-system.ts'

const TARGET = '/api/openapi.json'
const document = createOpenApiDocument({ maxBodyBytes: 262_144 })
const operations = Object.entries(document.paths as Record<string, Record<string, DocumentedOperation>>).flatMap(
  ([path, item]) => Object.entries(item).map(([method, operation]) => ({ ...operation, path, method })),
)

interface DocumentedOperation {
  readonly operationId: string
  readonly requestBody?: { readonly content: Record<string, { examples: Record<string, { value: unknown }> }> }
  readonly responses: Record<string, DocumentedResponse>
}

interface DocumentedResponse {
  readonly content?: { readonly 'application/json': { readonly schema: object; readonly example?: unknown } }
}

const system = await startHttpSystem()
afterAll(() => system[Symbol.asyncDispose]())

/** Validates a value against a schema of the document. Throws if it does not match. */
function expectFit(value: unknown, schema: object): void {
  z.fromJSONSchema({ ...toLocal(schema), $defs: toLocal(document.components.schemas) }).parse(value)
}

/** Rewrites references for the reader, and removes `not`, which it does not know. `not` bars one name from metadata. */
function toLocal(part: object): Record<string, never> {
  const text = JSON.stringify(part, (name, value: unknown) => (name === 'not' ? undefined : value))
  return JSON.parse(text.replaceAll('#/components/schemas/', '#/$defs/'))
}

/** The named examples of a request body. */
function examplesOf(operationId: string): [name: string, type: string, value: object][] {
  const { requestBody } = operations.find((one) => one.operationId === operationId)!
  return Object.entries(requestBody?.content ?? {}).flatMap(([type, { examples }]) =>
    Object.entries(examples).map(([name, { value }]): [string, string, object] => [name, type, value as object]),
  )
}

/** The JSON of a response, if it has a body. */
const contentOf = (response: DocumentedResponse | undefined) => response?.content?.['application/json']

/** Sends a request of the document. Checks that its answer is documented and that the body matches the schema. */
async function run(operationId: string, call: HttpCall): Promise<number> {
  const { responses } = operations.find((one) => one.operationId === operationId)!
  const { status, json } = await system.call(call)
  expect(Object.keys(responses)).toContain(String(status))
  const content = contentOf(responses[status])
  if (content !== undefined) expectFit(json, content.schema)
  return status
}

describe('GET /api/openapi.json', () => {
  it('serves the document on the public listener without a token', async () => {
    const { status, headers, json } = await system.call({ target: TARGET, principal: null })
    expect(status).toBe(200)
    expect(headers['content-type']).toBe('application/json; charset=utf-8')
    expect(json).toEqual(JSON.parse(JSON.stringify(document)))
  })
})

describe('the document', () => {
  it('describes every method of every resource, each under a unique name', () => {
    const described = operations.map(({ path, method }) => `${method} ${path}`)
    const known = RESOURCES.flatMap(({ template, methods }) => methods.map((one) => `${one.toLowerCase()} ${template}`))
    expect(described).toEqual(known)
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length)
  })

  it('has no broken references', () => {
    const references = JSON.stringify(document).match(/"#\/[^"]+"/g) ?? []
    const missing = [...new Set(references)].filter((reference) => {
      const path = (JSON.parse(reference) as string).slice(2).split('/')
      return (
        path.reduce<unknown>((at, step) => (at as Record<string, unknown> | undefined)?.[step], document) === undefined
      )
    })
    expect(missing).toEqual([])
  })

  it('shows answers that fit their own schemas', () => {
    const contents = operations.flatMap(({ responses }) =>
      Object.values(responses).flatMap((response) => contentOf(response) ?? []),
    )
    const shown = contents.filter(({ example }) => example !== undefined)
    expect(shown.length).toBeGreaterThan(0)
    for (const { schema, example } of shown) expectFit(example, schema)
  })
})

describe('the examples of the document', () => {
  it.each(examplesOf('createOrder'))('make an order by POST: %s', async (_, type, body) => {
    const call = { method: 'POST', target: '/api/orders', headers: { 'content-type': type }, body }
    expect(await run('createOrder', call)).toBe(201)
  })

  it.each(examplesOf('putOrder'))('make and replace an order by PUT: %s', async (name, type, body) => {
    const call = { method: 'PUT', target: `/api/orders/${name}`, headers: { 'content-type': type }, body }
    expect(await run('putOrder', call)).toBe(201)
    expect(await run('putOrder', call)).toBe(200)
  })

  it.each(examplesOf('patchOrder'))('change an order by PATCH: %s as %s', async (_, type, body) => {
    const [, , order] = examplesOf('putOrder')[0]!
    const target = '/api/orders/order-1001'
    expect(await run('deleteOrder', { method: 'DELETE', target })).toBe(204)
    const { headers } = await system.call({ method: 'PUT', target, body: order })
    const condition = { 'content-type': type, 'if-match': headers.etag }
    expect(await run('patchOrder', { method: 'PATCH', target, headers: condition, body })).toBe(200)
    expect(await run('getOrder', { target })).toBe(200)
    expect(await run('listOrders', { target: '/api/orders' })).toBe(200)
  })

  it.each(examplesOf('receiveWebhook'))('are taken as deliveries: %s', async (_, type, body) => {
    expect(await run('receiveWebhook', system.delivery(body, { 'content-type': type }))).toBe(200)
  })

  it('are refused as documented if they are missing', async () => {
    expect(await run('listOrders', { target: '/api/orders', principal: null })).toBe(401)
    expect(await run('getOrder', { target: '/api/orders/nobody' })).toBe(404)
    expect(await run('patchOrder', { method: 'PATCH', target: '/api/orders/nobody', body: {} })).toBe(404)
    expect(await run('getHealth', { target: '/healthz', principal: null })).toBe(200)
  })
})
