import { IDEMPOTENCY_KEYS, type IdempotencyRow } from '@oncehook/fulfilment/idempotency-keys'
import { ORDERS, type OrderDocument } from '@oncehook/fulfilment/orders/stored/order-document'
import { startFulfilment } from '@oncehook/fulfilment/testing/start-fulfilment'
import { startGateway } from '@oncehook/gateway/testing/start-gateway'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { expect, it } from 'vitest'
import { orderStates } from './order-states.ts'
import { CONTRACTS, contractsOf, readPact } from './pact-files.ts'
import { type StateHandler, verifyContract } from './verify-contract.ts'
import { bytesOf } from './webhook-senders.ts'

const SHOP = 'the-token-of-a-shop-in-a-test-of-contracts'
const OTHERS = {
  'the shop has another token': 'the-token-of-somebody-else-in-a-test-of-contracts',
  'the shop may only read': 'the-token-of-a-reader-in-a-test-of-contracts',
  'the shop has no rights': 'the-token-of-nobody-in-a-test-of-contracts',
  'the shop has only its own orders': 'the-token-of-a-seller-in-a-test-of-contracts',
}
const SCOPES = ['orders:read', 'orders:write', 'orders:delete']
const settings = {
  API_TOKENS: JSON.stringify({
    shop: SHOP,
    reader: { tokens: [{ value: OTHERS['the shop may only read'] }], scopes: ['orders:read'] },
    nobody: { tokens: [{ value: OTHERS['the shop has no rights'] }], scopes: [] },
    seller: { tokens: [{ value: OTHERS['the shop has only its own orders'] }], scopes: SCOPES, own: true },
  }),
}
const MOST_BYTES = 262_144

interface Keyed {
  readonly key: string
  readonly order: object
}

it.each(contractsOf('orders-api'))('the gateway answers shops as $name says', async (contract) => {
  await using database = await testDatabase(process.env)
  await using fulfilmentDatabase = await testDatabase(process.env)
  const { uri, name } = fulfilmentDatabase
  await using fulfilment = await startFulfilment({ uri, database: name })
  const usual = { token: SHOP, isThere: true, isLimited: false, leastBytes: 0 }
  let now = usual
  const turn = (change: Partial<typeof usual>) => async (): Promise<void> => {
    now = { ...now, ...change }
  }
  const parts = {
    ...{ database, fulfilmentUrl: fulfilment.url, keys: fulfilment.keys },
    fetch: (...call: Parameters<typeof fetch>) =>
      now.isThere ? fetch(...call) : Promise.reject(new TypeError('fetch failed')),
  }
  await using gateway = await startGateway({ ...parts, settings })
  // No new window begins during the test.
  const limits = { rateWindowSeconds: 86_400 }
  await using limited = await startGateway({ ...parts, settings: { ...settings, RATE_LIMIT_API: '1' }, limits })
  const ask = (url: string, init: RequestInit = {}): Promise<Response> => {
    const headers = { authorization: `Bearer ${SHOP}`, 'content-type': 'application/json', ...init.headers }
    return fetch(`${url}/api/orders`, { ...init, headers })
  }
  const kept: string[] = []
  const make = async ({ key, order }: Keyed): Promise<void> => {
    const headers = { 'idempotency-key': key }
    // With spaces: what comes again is the same request, however it is written.
    expect((await ask(gateway.url, { method: 'POST', headers, body: JSON.stringify(order, null, 1) })).status).toBe(201)
  }
  const states: Readonly<Record<string, StateHandler>> = {
    ...orderStates(fulfilment),
    'nothing in particular': async () => undefined,
    'an order was made under a key': make,
    'a request under a key is running': async (request: Keyed) => {
      await make(request)
      const rows = fulfilment.db.collection<IdempotencyRow>(IDEMPOTENCY_KEYS)
      const running = { state: 'running' as const, leaseUntil: new Date(Date.now() + 50_000) }
      const change = { $set: running, $unset: { answer: '' } } as const
      const row = await rows.findOneAndUpdate({ key: JSON.parse(request.key) }, change)
      const stored = fulfilment.db.collection<OrderDocument>(ORDERS)
      expect((await stored.deleteOne({ _id: row?.orderId ?? '' })).deletedCount).toBe(1)
    },
    'fulfilment does not answer': turn({ isThere: false }),
    'the shop sends too many requests': async () => {
      await turn({ isLimited: true })()
      await ask(limited.url)
    },
    'the body is as large as it may be': turn({ leastBytes: MOST_BYTES }),
    'the body is too large': turn({ leastBytes: MOST_BYTES + 1 }),
    ...Object.fromEntries(Object.entries(OTHERS).map(([state, token]) => [state, turn({ token })])),
  }
  await verifyContract({
    contract,
    url: () => (now.isLimited ? limited.url : gateway.url),
    states,
    hear: ({ path, text }) => {
      now = usual
      // Pact ignores what an answer has besides.
      const members = path.endsWith('/ord_put_less') ? Object.keys(JSON.parse(text)) : []
      kept.push(...members.filter((member) => ['email', 'metadata'].includes(member)))
    },
    filter: (request) => {
      const [scheme] = (request.headers.authorization ?? 'Bearer').split(' ')
      request.headers.authorization = `${scheme} ${now.token}`
      if (now.leastBytes === 0) return
      const body = bytesOf(request.body)
      request.body = Buffer.concat([body, Buffer.alloc(now.leastBytes - body.length, ' ')])
      request.headers['content-length'] = String(now.leastBytes)
    },
  })
  const who = `orders-api breaks what it owes to the consumer shop (contracts/${contract.name})`
  expect(kept, `${who}: after a PUT, an order has members that the PUT left out`).toEqual([])
})

// What the Fetch standard always lets a script read, and what no script needs.
const NEVER_READ = /^(?:accept|accept-patch|cache-control|content-type|www-authenticate|x-content-type-options)$/

it('the gateway lets a script of a shop in a browser send and read what its contract has', async () => {
  const { interactions } = await readPact(`${CONTRACTS}/shop-orders-api.json`)
  const namesOf = (parts: readonly object[]) =>
    [...new Set(parts.flatMap((part) => Object.keys(Object(Object(part).headers))))].map((name) => name.toLowerCase())
  const sent = namesOf(interactions.map(({ request }) => request)).filter((name) => name !== 'accept')
  const read = namesOf(interactions.map(({ response }) => Object(response))).filter((name) => !NEVER_READ.test(name))
  const methods = ['get', 'post', 'put', 'patch', 'delete']
  await using database = await testDatabase(process.env)
  const origin = 'https://shop.example'
  await using gateway = await startGateway({ database, settings: { ...settings, CORS_ORIGINS: origin } })
  const who = 'orders-api breaks what it owes to the consumer shop, as a script in a browser (docs/reference/http.md)'
  const ask = async (path: string, init: RequestInit): Promise<(name: string) => string[]> => {
    const { headers } = await fetch(`${gateway.url}/api/orders${path}`, init)
    expect(headers.get('access-control-allow-origin'), `${who}: its origin`).toBe(origin)
    return (name) => (headers.get(`access-control-${name}`) ?? '').toLowerCase().split(/, */)
  }
  for (const [path, supported] of [
    ['', methods.slice(0, 2)],
    ['/ord_1', methods.toSpliced(1, 1)],
  ] as const) {
    const asks = { origin, 'access-control-request-method': 'GET' }
    const allowed = await ask(path, { method: 'OPTIONS', headers: asks })
    const exposed = await ask(path, { headers: { origin } })
    const lost = (needed: readonly string[], given: readonly string[]) => needed.filter((name) => !given.includes(name))
    expect(lost(supported, allowed('allow-methods')), `${who}: methods that it may not use`).toEqual([])
    expect(lost(sent, allowed('allow-headers')), `${who}: headers that it may not send`).toEqual([])
    expect(lost(read, exposed('expose-headers')), `${who}: headers that it may not read`).toEqual([])
  }
})
