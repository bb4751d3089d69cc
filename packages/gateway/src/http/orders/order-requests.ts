import { invalidRequest, notFound } from '@oncehook/kernel/http/error-codes'
import type { Context } from 'koa'
import orderSchemas from '../openapi/order-schemas.json' with { type: 'json' }

/** The form of an order id, as the OpenAPI document shows it. */
export const ORDER_ID = new RegExp(orderSchemas.schemas.OrderId.pattern)

/**
 * The id in the path.
 * @throws invalidRequest for an id that no order can have, notFound if the path has none
 */
export function orderIdOf(ctx: Context): string {
  const id: unknown = (ctx as { params?: { id?: unknown } }).params?.id
  if (typeof id !== 'string') throw notFound()
  if (ORDER_ID.test(id)) return id
  throw invalidRequest(
    {},
    { message: 'An order id must have 1 to 128 characters of A-Z, a-z, 0-9 and . _ ~ -, and not only one or two dots' },
  )
}

const MAX_CONDITION = 4_096

/**
 * The preconditions of a request, as sent; fulfilment parses and checks them (RFC 9110 section 13.1).
 * @throws invalidRequest if one is longer than fulfilment accepts
 */
export function conditionsOf(ctx: Context): { ifMatch?: string; ifNoneMatch?: string } {
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = ctx.req.headers
  if (Math.max(ifMatch?.length ?? 0, ifNoneMatch?.length ?? 0) > MAX_CONDITION) {
    throw invalidRequest({}, { message: `If-Match and If-None-Match must have at most ${MAX_CONDITION} characters` })
  }
  return { ...(ifMatch === undefined ? {} : { ifMatch }), ...(ifNoneMatch === undefined ? {} : { ifNoneMatch }) }
}

const LIST_MEMBERS = new Set(['limit', 'after', 'status'])

/**
 * Reads the query parameters of `GET /api/orders`.
 * @throws invalidRequest
 */
export function listInputOf(ctx: Context): { limit: number; after?: string; status?: string } {
  const { searchParams } = new URL(ctx.req.url ?? '', 'http://localhost')
  const names = [...searchParams.keys()]
  if (names.some((name) => !LIST_MEMBERS.has(name)) || new Set(names).size < names.length) {
    throw invalidRequest(
      {},
      { message: 'Unknown or repeated query parameter: only limit, after and status are allowed' },
    )
  }
  const limit = searchParams.get('limit') ?? '20'
  if (!/^(?:[1-9]\d?|100)$/.test(limit))
    throw invalidRequest({}, { message: 'The parameter limit must be an integer from 1 to 100' })
  const after = searchParams.get('after')
  const status = searchParams.get('status')
  return { limit: Number(limit), ...(after === null ? {} : { after }), ...(status === null ? {} : { status }) }
}
