import { RESOURCES } from '@oncehook/gateway/http/resources'
import { operationsOf } from '@oncehook/gateway/orders/openapi/openapi-document'
import { MatchersV3 } from '@pact-foundation/pact'
import { describe, expect, it } from 'vitest'
import { compareAtTheEnd, type Exchange, type NeededState, openConsumerContract } from './consumer-contract.ts'
import { absent, orderOf, pending, state, time } from './gateway-contract.ts'
import { CONTENT, UNUSUAL } from './paid-orders.ts'

const { like, regex, string } = MatchersV3

const contract = openConsumerContract('shop', 'orders-api')
compareAtTheEnd(contract)
const TOKEN = { Authorization: 'Bearer the-token-of-a-shop-in-a-test-of-contracts' }
const ALWAYS = { 'X-Request-Id': regex(/^[\w.-]{8,128}$/, 'the-id-of-a-request') }
const TYPED = { 'Content-Type': 'application/json; charset=utf-8', 'X-Content-Type-Options': 'nosniff' }
// A shared cache neither keeps an order nor recodes it, which would weaken its tag.
const UNCACHED = { 'Cache-Control': 'no-store, no-transform' }
const LIMITED = {
  RateLimit: regex(/^"[\w-]+";r=0;t=\d+$/, '"api";r=0;t=1'),
  'RateLimit-Policy': regex(/^"[\w-]+";q=\d+;w=\d+$/, '"api";q=1;w=10'),
}
const LATER = { 'Retry-After': regex(/^\d+$/, '1') }

type Answer = Exchange['answer']
type Headers = Readonly<Record<string, unknown>>

function answered(status: number, headers: Headers, body?: object): Answer {
  return { status, headers: { ...ALWAYS, ...(body && TYPED), ...headers }, ...(body && { body }) } as Answer
}

function refused(status: number, code: string, headers: Headers = {}): Answer {
  const body = { error: string('A sentence'), code, requestId: like('a-request-id') }
  return answered(status, { 'Cache-Control': 'no-store', ...headers }, body)
}

const shown = (version: number, headers: Headers): Headers => ({ ...UNCACHED, ETag: `"${version}"`, ...headers })

function read(name: string, { version = 1, members = {} } = {}): Answer {
  return answered(200, shown(version, {}), orderOf(`ord_${name}`, version, members))
}

/** An order that was written, and where it is. */
function written(name: string, { status = 200, version = 1, members = {} } = {}): Answer {
  const headers = shown(version, { 'Content-Location': `/api/orders/ord_${name}` })
  return answered(status, headers, orderOf(`ord_${name}`, version, members))
}

function made(headers: Headers = {}, content = {}): Answer {
  const at = regex(/^\/api\/orders\/ord_[a-z2-7]{26}$/, '/api/orders/ord_abcdefghijklmnopqrstuvwxyz')
  const id = regex(/^ord_[a-z2-7]{26}$/, 'ord_abcdefghijklmnopqrstuvwxyz')
  return answered(201, shown(1, { Location: at, 'Content-Location': at, ...headers }), orderOf(id, 1, content))
}

interface ShopCall {
  readonly does: string
  readonly states: readonly NeededState[]
  readonly method: string
  readonly path: string
  readonly query?: Record<string, string>
  readonly headers?: Record<string, string>
  readonly body?: object | undefined
  readonly answer: Answer
}

const NOTED = { ...CONTENT, note: 'changed' }
const CHANGED = { note: 'changed' }
const BODIES: Readonly<Record<string, object>> = { POST: CONTENT, PUT: NOTED, PATCH: CHANGED }

/** A call for a method and an order, which is there, or for a method and all orders. */
function call(does: string, target: string, answer: Answer, more: Partial<ShopCall> = {}): ShopCall {
  const [method = '', name] = target.split(' ')
  const about = name === undefined ? { path: '', states: NOTHING } : { path: `/ord_${name}`, states: [pending(name)] }
  const body = BODIES[method]
  return { does, method, ...about, ...(body && { body }), answer, ...more }
}

const known = (description: string): readonly NeededState[] => [{ description }]
const NOTHING = known('nothing in particular')
const SELLER = known('the shop has only its own orders')
const full = (name: string) => state('an order with every member was paid', { name })
const PAYMENT = { id: string('pay_1'), provider: 'acme', status: 'succeeded', at: time() }
const PAID = { status: 'paid', access: 'unlocked', payment: PAYMENT }
const EVERY_MEMBER = { ...PAID, email: 'a@example.com', note: 'a note', metadata: { colour: 'blue' } }
const page = (items: object[], next: unknown) => answered(200, UNCACHED, { items, next })
const NOT_FOUND = refused(404, 'order_not_found')
const INVALID = refused(400, 'invalid_request')
const FIXED = refused(409, 'order_paid')
const OTHER_VERSION = refused(412, 'precondition_failed', { ETag: '"1"' })
const IN_DOLLARS = { ...CONTENT, currency: 'USD' }
const GONE = answered(204, {})
const unless = (tag: string) => ({ headers: { 'If-None-Match': tag } })
const under = (key: string) => ({ headers: { 'Idempotency-Key': key } })
const typed = (type: string) => ({ headers: { 'Content-Type': type } })
const madeBefore = (key: string, order = CONTENT) => [state('an order was made under a key', { key, order })]
const running = [state('a request under a key is running', { key: '"key-running"', order: CONTENT })]
const torn = [state('an order cannot be shown', { orderId: 'ord_torn' })]
const sealed = [state('an order is encrypted by a key that is gone', { orderId: 'ord_sealed' })]

const PARTICULAR: readonly ShopCall[] = [
  call('makes an order under a key', 'POST', made(), under('"key-1"')),
  call('makes an order under a key without quotes', 'POST', made(), under('key-2')),
  call('makes an order, and names the charset', 'POST', made(), typed('application/json; charset=utf-8')),
  call('makes an order, in a type of its own', 'POST', made(), typed('application/vnd.shop+json')),
  call('makes an order under a key again, now without quotes', 'POST', made({ 'Idempotent-Replayed': 'true' }), {
    ...{ ...under('key-again'), states: madeBefore('"key-again"') },
  }),
  call('makes another order under a key', 'POST', refused(422, 'idempotency_key_reused'), {
    ...{ ...under('"key-reused"'), states: madeBefore('"key-reused"', NOTED) },
  }),
  call('makes an order while the first request runs', 'POST', refused(409, 'idempotency_in_progress', LATER), {
    ...{ ...under('"key-running"'), states: running },
  }),
  call('makes an order with a large body', 'POST', made(), { states: known('the body is as large as it may be') }),
  call('makes an order with all that it can hold', 'POST', made({}, UNUSUAL), { body: UNUSUAL }),
  call('makes an order under an empty key', 'POST', INVALID, under('""')),
  call('makes something that is no order', 'POST', INVALID, { body: CHANGED }),
  call('reads a paid order', 'GET full', read('full', { version: 2, members: EVERY_MEMBER }), {
    states: [full('full')],
  }),
  call('reads an order, with bearer in lower case', 'GET lower', read('lower'), {
    headers: { Authorization: TOKEN.Authorization.toLowerCase() },
  }),
  call('reads an order that is not there', 'GET none', NOT_FOUND, { states: [absent('none')] }),
  call('reads an order of its own', 'GET own', read('own'), {
    states: [state('there is an order of a principal', { orderId: 'ord_own', principal: 'seller' }), ...SELLER],
  }),
  call('reads an order of somebody else', 'GET foreign', NOT_FOUND, { states: [pending('foreign'), ...SELLER] }),
  call('reads a damaged order', 'GET torn', refused(409, 'order_unreadable'), { states: torn }),
  call('reads an order whose key is gone', 'GET sealed', refused(503, 'key_unknown', LATER), { states: sealed }),
  call('reads an order under an id that none has', 'GET', INVALID, { path: '/ord%20x' }),
  call('reads an order that it has', 'GET had', answered(304, shown(1, {})), unless('W/"1", "9"')),
  call('reads an order that has changed', 'GET changed', read('changed'), unless('"9"')),
  call(
    'reads a page of orders',
    'GET',
    page([orderOf('ord_newer', 2, EVERY_MEMBER)], string('1760000000000.ord_newer')),
    {
      ...{ query: { limit: '1' }, states: [full('older'), full('newer')] },
    },
  ),
  call('reads a page after one', 'GET', page([], null), { query: { after: '0.ord_0', limit: '100', status: 'paid' } }),
  call('reads a page by what orders lack', 'GET', INVALID, { query: { customer: '1' } }),
  call('puts an order that was not there', 'PUT put', written('put', { status: 201 }), {
    ...{ ...unless('*'), states: [absent('put')], body: CONTENT },
  }),
  call('puts an order, in a type of its own', 'PUT put_typed', written('put_typed', { version: 2, members: CHANGED }), {
    ...typed('application/vnd.shop+json'),
  }),
  call('puts an order that must not be there', 'PUT put_there', OTHER_VERSION, unless('*')),
  call('puts an order as it has read it', 'PUT put_same', written('put_same'), {
    body: { ...CONTENT, id: 'ord_put_same', version: 1, status: 'pending' },
  }),
  call(
    'puts an order with less',
    'PUT put_less',
    written('put_less', { version: 3, members: { ...PAID, ...CHANGED } }),
    {
      states: [full('put_less')],
    },
  ),
  call('puts an order under another id', 'PUT a', refused(409, 'id_mismatch'), { body: { ...CONTENT, id: 'ord_b' } }),
  call('puts a price into a paid order', 'PUT put_paid', FIXED, { states: [full('put_paid')], body: IN_DOLLARS }),
  call('puts something that is no order', 'PUT put_none', INVALID, { body: CHANGED }),
  call('puts an order of somebody else', 'PUT put_foreign', NOT_FOUND, {
    states: [pending('put_foreign'), ...SELLER],
  }),
  call(
    'patches an order, in the type of a patch',
    'PATCH merged',
    written('merged', { version: 2, members: CHANGED }),
    {
      headers: { 'If-Match': '"1"', ...typed('application/merge-patch+json').headers },
    },
  ),
  call('patches a member away', 'PATCH less', written('less', { version: 3, members: PAID }), {
    ...{ states: [full('less')], headers: { 'If-Match': '*' }, body: { note: null } },
  }),
  call('patches an order without a version', 'PATCH blind', refused(428, 'precondition_required')),
  call('patches an order that is not there', 'PATCH lost', NOT_FOUND, {
    ...{ states: [absent('lost')], headers: { 'If-Match': '*' } },
  }),
  call('patches the price of a paid order', 'PATCH fixed', FIXED, {
    ...{ states: [full('fixed')], headers: { 'If-Match': '*' }, body: { currency: 'USD' } },
  }),
  call('patches an order into none', 'PATCH broken', refused(422, 'patch_unprocessable'), {
    ...{ headers: { 'If-Match': '*' }, body: { items: null } },
  }),
  call('deletes an order that was never there', 'DELETE never', GONE, { states: [absent('never')] }),
  call('deletes an order of somebody else', 'DELETE kept', NOT_FOUND, { states: [pending('kept'), ...SELLER] }),
  call('asks for something that is not there', 'GET', refused(404, 'not_found'), { path: '/a/b' }),
]

/** What each method makes of each form of a condition. */
const CONDITIONAL = ['GET', 'PUT', 'PATCH', 'DELETE'].flatMap((method) =>
  ['"1"', '*', '"9", "1"', '"9"', 'W/"1"', '1'].map((tag, index) => {
    const name = `${method.toLowerCase()}_${index}`
    const changed = written(name, { version: 2, members: CHANGED })
    const met = { GET: read(name), DELETE: GONE }[method] ?? changed
    const answer = index < 3 ? met : index < 5 ? OTHER_VERSION : INVALID
    return call(`sends ${method} if it matches ${tag}`, `${method} ${name}`, answer, { headers: { 'If-Match': tag } })
  }),
)

const PATCHES = 'application/merge-patch+json, application/json'

/** What can happen to every operation. */
const GENERAL = ['GET', 'POST', 'GET any', 'PUT any', 'PATCH any', 'DELETE any'].flatMap((target) => {
  const [method = ''] = target.split(' ')
  const right = { GET: 'read', DELETE: 'delete' }[method] ?? 'write'
  const mayNot = { 'WWW-Authenticate': `Bearer error="insufficient_scope", scope="orders:${right}"` }
  const unknown = { 'WWW-Authenticate': regex(/^Bearer\b/, 'Bearer') }
  const types = method === 'PATCH' ? { Accept: PATCHES, 'Accept-Patch': PATCHES } : { Accept: 'application/json' }
  const when = (description: string, answer: Answer): ShopCall =>
    call(`sends ${target} although ${description}`, target, answer, { states: known(description) })
  const all = [
    when('the shop has another token', refused(401, 'unauthenticated', unknown)),
    when('the shop has no rights', refused(403, 'scope_missing', mayNot)),
    when('the shop sends too many requests', refused(429, 'rate_limited', { ...LATER, ...LIMITED })),
    when('fulfilment does not answer', refused(503, 'unavailable', LATER)),
    call(`sends ${target} for a page`, target, refused(406, 'not_acceptable'), { headers: { Accept: 'text/html' } }),
  ]
  if (right !== 'write') return all
  const xml = call(`sends ${target} in XML`, target, refused(415, 'unsupported_media_type', types), typed('text/xml'))
  return [...all, when('the body is too large', refused(413, 'payload_too_large')), { ...xml, body: undefined }]
})

const METHODS = 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS'
const ASKING: readonly ShopCall[] = [
  call('asks for the methods', 'OPTIONS any', answered(204, { Allow: METHODS, 'Accept-Patch': PATCHES })),
  call('asks for the methods of all', 'OPTIONS', answered(204, { Allow: 'GET, HEAD, POST, OPTIONS' })),
  call('asks for the methods of nothing', 'OPTIONS', refused(404, 'not_found'), { path: '/a/b' }),
  call('posts to an order', 'POST any', refused(405, 'method_not_allowed', { Allow: METHODS })),
]

/** `HEAD` is `GET` without a body, for errors too. Some states cannot come about again. */
const CALLS = [...PARTICULAR, ...CONDITIONAL, ...GENERAL, ...ASKING].flatMap((one): ShopCall[] => {
  if (one.method !== 'GET' || /every member|be shown|encrypted/.test(JSON.stringify(one.states))) return [one]
  const { body: _, ...answer } = one.answer
  return [one, { ...one, does: `${one.does}, its head only`, method: 'HEAD', answer }]
})

// A shop has its own client, in any language. Its requests are written down here.
describe('a shop', () => {
  it.each(CALLS)('$does', async ({ does, states, method, path, query, headers, body, answer }) => {
    const type: Record<string, string> = body === undefined ? {} : { 'Content-Type': 'application/json' }
    const request = { method, path: `/api/orders${path}`, headers: { ...TOKEN, ...type, ...headers } }
    const exchange: Exchange = {
      ...{ does, states, answer },
      request: { ...request, ...(query && { query }), ...(body && { body: body as never }) },
    }
    await (await contract).expectExchange(exchange, async (url) => {
      const search = query === undefined ? '' : `?${new URLSearchParams(query)}`
      const answered = await fetch(`${url}${request.path}${search}`, {
        ...{ method, headers: request.headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      expect(answered.status).toBe(answer.status)
    })
  })

  it('has an interaction of every status of every operation', () => {
    const resourceOf = (path: string): string => (path === '' ? 'orders' : 'order')
    const has = new Set(CALLS.map(({ method, path, answer }) => `${method} ${resourceOf(path)} ${answer.status}`))
    const operations = RESOURCES.filter(({ name }) => /^orders?$/.test(name)).flatMap(operationsOf)
    const promised = operations.flatMap(({ operation: { answers, refusals = [] }, method, resource }) => {
      const statuses = [...Object.keys(answers), ...refusals.map(({ status }) => status)]
      return statuses.map((status) => `${method} ${resource.name} ${status}`)
    })
    // A request without a body is not too large, and no state makes an order so damaged that it cannot be deleted.
    const unwritten = /^(GET|HEAD|DELETE) \w+ 413$|^(HEAD|DELETE) order 409$/
    const missing = promised.filter((row) => !has.has(row) && !unwritten.test(row))
    expect([...new Set(missing)], 'statuses without an interaction of the consumer shop').toEqual([])
  })
})
