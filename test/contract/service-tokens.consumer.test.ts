import { verify } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { startGateway } from '@oncehook/gateway/testing/start-gateway'
import { newServiceKeyPair } from '@oncehook/kernel/testing/service-key-pair'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, describe, expect, it } from 'vitest'
import { demandPart } from './demand-part.ts'
import { promisedParts, readToken, type TokenCall } from './hand-made-token.ts'
import { commitTokens, type RecordedToken, readTokens, tokenFiles } from './recorded-tokens.ts'

const KEYS = newServiceKeyPair()
const ISSUED_AT = Date.parse('2026-11-21T08:00:00.000Z')
const API_TOKEN = 'the-token-of-a-shop-in-a-test-of-contracts'
const OPERATOR_TOKEN = 'the-token-of-an-operator-in-a-test-of-contracts'
const ORDER = { customerId: 'cus_1', currency: 'EUR', items: [{ sku: 'sku_1', quantity: 1, unitAmount: 1999 }] }
const WHO = 'The consumer gateway breaks its promise to fulfilment (contracts/service-tokens.json)'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))

type Sent = Omit<RecordedToken, 'does'>

/** What a gateway sends to fulfilment while it is called. Its time never changes. */
async function sendFrom(call: SentBy): Promise<Sent> {
  const sent: Sent[] = []
  await using gateway = await startGateway({
    ...{ database, keys: KEYS, clock: { now: () => ISSUED_AT } },
    settings: {
      API_TOKENS: JSON.stringify({ shop: API_TOKEN }),
      OPERATOR_TOKENS: JSON.stringify({ operator: OPERATOR_TOKEN }),
    },
    async fetch(input, init) {
      const { pathname, searchParams } = new URL(String(input))
      const token = new Headers(init?.headers).get('authorization')?.replace(/^Bearer /, '') ?? ''
      const text = init?.body instanceof Uint8Array ? Buffer.from(init.body).toString() : init?.body
      const body = typeof text === 'string' ? text : (searchParams.get('input') ?? '')
      sent.push({ method: init?.method ?? 'GET', procedure: pathname.replace('/trpc/', ''), input: body, token })
      return new Response('{}', { status: 503, headers: { 'content-type': 'application/json' } })
    },
  })
  await call(gateway)
  const [first] = sent
  if (first === undefined) throw new Error('The gateway did not call fulfilment')
  return first
}

type SentBy = (gateway: { readonly url: string; readonly adminUrl: string }) => Promise<unknown>

const put: SentBy = ({ url }) =>
  fetch(`${url}/api/orders/ord_1`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${API_TOKEN}`, 'content-type': 'application/json', 'if-match': '"1"' },
    body: JSON.stringify(ORDER),
  })
const get: SentBy = ({ url }) => fetch(`${url}/api/orders/ord_1`, { headers: { authorization: `Bearer ${API_TOKEN}` } })
const list: SentBy = ({ adminUrl }) =>
  fetch(`${adminUrl}/operator/receipts.list?input=${encodeURIComponent('{"limit":1}')}`, {
    headers: { authorization: `Bearer ${OPERATOR_TOKEN}` },
  })

const CALLS: readonly { does: string; by: SentBy; call: TokenCall }[] = [
  {
    does: 'puts an order for a shop',
    by: put,
    call: {
      ...{ procedure: 'orders.put', subject: 'shop' },
      input: JSON.stringify({ id: 'ord_1', order: ORDER, ifMatch: '"1"' }),
    },
  },
  {
    does: 'reads an order for a shop',
    by: get,
    call: { procedure: 'orders.get', subject: 'shop', input: JSON.stringify({ id: 'ord_1' }) },
  },
  {
    does: 'lists receipts for itself',
    by: list,
    call: { procedure: 'receipts.list', input: JSON.stringify({ limit: 1 }) },
  },
]

/** What each call sends, sent once. */
const taken = await Promise.all(
  CALLS.map(async ({ does, by }): Promise<RecordedToken> => ({ does, ...(await sendFrom(by)) })),
)

describe('the tokens of the gateway', () => {
  it.each(CALLS)('name the caller, the called and the call, end after a minute and are signed: $does', async (its) => {
    const sent = taken.find(({ does }) => does === its.does) ?? expect.unreachable()
    const { header, claims, text, signature } = readToken(sent.token)
    // Further claims do no harm.
    const promised = promisedParts({ ...its.call, input: sent.input }, ISSUED_AT / 1_000)
    demandPart(WHO, { header, claims }, promised)
    expect(Object.keys(claims).includes('sub'), WHO).toBe('subject' in its.call)
    expect(claims.jti, WHO).toMatch(/./)
    expect(sent.procedure, WHO).toBe(its.call.procedure)
    expect(verify(null, Buffer.from(text), KEYS.publicKey, Buffer.from(signature, 'base64url')), WHO).toBe(true)
  })

  it('are those that the committed file contains', async () => {
    const now = { consumer: 'gateway', provider: 'fulfilment', issuedAt: ISSUED_AT }
    // Each token has another id: the file changes only if something else does.
    const isNew = !isDeepStrictEqual(taken.map(lasting), (await readTokens()).tokens.map(lasting))
    if (process.env.UPDATE_CONTRACTS === '1' && isNew)
      await commitTokens({ ...now, publicKey: KEYS.publicKey, tokens: taken })
    const { tokens, publicKey: _, ...others } = await readTokens()
    expect(others).toEqual(now)
    demandPart(WHO, taken.map(lasting), tokens.map(lasting))
  })

  it.each(tokenFiles())('contain all that fulfilment found in %s', async (name) => {
    const { tokens, issuedAt } = await readTokens(name)
    expect(tokens.length).toBeGreaterThan(0)
    for (const recorded of tokens) {
      const now = taken.find(({ does }) => does === recorded.does)
      const before = lasting(recorded)
      if (now === undefined) throw new Error(`Nobody ${recorded.does} any more`)
      const { header, claims } = readToken(now.token)
      const times = { iat: Number(claims.iat) + (issuedAt - ISSUED_AT) / 1_000 }
      const shifted = { ...claims, ...times, exp: times.iat + Number(claims.exp) - Number(claims.iat) }
      demandPart(WHO, { header, claims: shifted }, { header: before.header, claims: before.claims })
    }
  })
})

/** The parts that are the same in every call, in any order of properties. */
function lasting({ token, input, ...sent }: RecordedToken) {
  const { header, claims } = readToken(token)
  const { jti: _, bsh: __, ...others } = claims
  return { ...sent, input: JSON.parse(input) as unknown, header, claims: others }
}
