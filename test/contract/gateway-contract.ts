import { readGatewaySettings } from '@oncehook/gateway/start/settings'
import { startGateway } from '@oncehook/gateway/testing/start-gateway'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { newServiceKeyPair } from '@oncehook/kernel/testing/service-key-pair'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { systemClock } from '@oncehook/kernel/time/clock'
import { Lifecycle } from '@oncehook/kernel/time/lifecycle'
import { MatchersV3 } from '@pact-foundation/pact'
import { createContext, type GatewayContext } from '../../packages/gateway/src/start/gateway-context.ts'
import { type Exchange, type NeededState, openConsumerContract } from './consumer-contract.ts'
import { demandToken, type SentCall, toSentCall } from './hand-made-token.ts'
import { CONTENT } from './paid-orders.ts'

const { integer, regex, string } = MatchersV3
const API_TOKEN = 'the-token-of-a-shop-in-a-test-of-contracts'
/** The token of the principal `seller`, which can use only the orders that it created. */
export const OWN_TOKEN = 'the-token-of-a-seller-in-a-test-of-contracts'
const SCOPES = ['orders:read', 'orders:write', 'orders:delete']
const OPERATOR_TOKEN = 'the-token-of-an-operator-in-a-test-of-contracts'
const JSON_TYPE = { 'Content-Type': 'application/json; charset=utf-8' }
const BEARER = regex(/^Bearer [\w-]+\.[\w-]+\.[\w-]+$/, 'Bearer a.b.c')
const NOWHERE = 'http://127.0.0.1:1'
/** The id of a request to the gateway. The logs of both services have it. */
export const REQUEST_ID = 'the-id-of-a-request'
const WHO = 'The consumer gateway breaks its promise to fulfilment (contracts/service-tokens.json)'

/** A call of the gateway to fulfilment, as its contract has it. */
export interface Call {
  readonly does: string
  readonly states?: readonly NeededState[]
  readonly procedure: string
  readonly kind: 'query' | 'mutation'
  readonly input: object
  readonly answer: Exchange['answer']
  /** The contract contains no token for this call. */
  readonly anonymous?: boolean
}

/** What a caller of the gateway receives. */
interface Received {
  readonly status: number
  readonly headers: Headers
  readonly json: Record<string, unknown>
}

/** A running gateway and its contract with fulfilment. */
export interface GatewayContract extends AsyncDisposable, Pick<GatewayContext, 'applyEvents' | 'fulfilment'> {
  /** Serves the answer of a call while `request` makes the gateway call. Checks the token of each call. */
  expectCall(call: Call, request: () => Promise<void>): Promise<void>
  /** Calls the order API of the gateway, below `/api/orders`. */
  callApi(method: string, path: string, more?: { headers?: object; body?: object }): Promise<Received>
  /** Calls a procedure of the operator API of the gateway. */
  callOperator(method: string, procedure: string, input: object): Promise<Received>
  /** Compares the calls with those of the committed contract, or updates the contract on request. */
  compareWithCommitted(env: NodeJS.ProcessEnv): Promise<void>
}

/** Starts a gateway and opens its contract with fulfilment: the part with the procedures of some routers. */
export async function openGatewayContract(
  env: NodeJS.ProcessEnv,
  hasRouter: (router: string) => boolean,
): Promise<GatewayContract> {
  await using resources = new AsyncDisposableStack()
  const isOfPart = (path: string): boolean => hasRouter(path.replace('/trpc/', '').split('.', 1)[0] ?? '')
  const contract = resources.use(await openConsumerContract('gateway', 'fulfilment', isOfPart))
  const database = resources.use(await testDatabase(env))
  const keys = newServiceKeyPair()
  // Where the gateway finds fulfilment: the URL of the current exchange.
  let fulfilmentUrl = ''
  const sent: SentCall[] = []
  const send: typeof fetch = (input, init) => {
    const address = String(input).replace(NOWHERE, fulfilmentUrl)
    sent.push(toSentCall(address, init))
    return fetch(address, init)
  }
  const settings = {
    API_TOKENS: JSON.stringify({
      shop: API_TOKEN,
      seller: { tokens: [{ value: OWN_TOKEN }], scopes: SCOPES, own: true },
    }),
    OPERATOR_TOKENS: JSON.stringify({ operator: OPERATOR_TOKEN }),
  }
  const gateway = resources.use(await startGateway({ database, keys, settings, fetch: send }))
  const { logger } = memoryLogger()
  const lifecycle = new Lifecycle(logger)
  resources.defer(async () => void (await lifecycle.stop()))
  // The clients of a gateway, for the calls that no request of ours causes.
  const { applyEvents, fulfilment } = createContext(
    {
      ...{ logger, clock: systemClock, random: Math.random, fetch: send },
      settings: readGatewaySettings({
        ...{ MONGODB_URI: database.uri.reveal(), GATEWAY_DB: database.name, FULFILMENT_URL: NOWHERE },
        ...{ SERVICE_PRIVATE_KEY: keys.privateKey, PROVIDERS: '{}', ...settings },
      }),
    },
    lifecycle,
  )
  const owned = resources.move()
  return {
    ...{ ...createCallers(gateway), applyEvents, fulfilment },
    expectCall: (call, request) =>
      contract.expectExchange(exchangeOf(call), async (url) => {
        fulfilmentUrl = url
        sent.length = 0
        await request()
        if (sent.length === 0) throw new Error(`The gateway did not call ${call.procedure}`)
        for (const one of sent) demandToken(WHO, one, { publicKey: keys.publicKey, ...principalOf(call) })
      }),
    compareWithCommitted: (given) => contract.compareWithCommitted(given),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** In whose name the gateway calls: that of the caller of the order API, or else its own. */
function principalOf({ procedure, input }: Call): { readonly subject?: string } {
  if (!procedure.startsWith('orders.')) return {}
  return { subject: 'owner' in input ? String(input.owner) : 'shop' }
}

function createCallers(gateway: {
  readonly url: string
  readonly adminUrl: string
}): Pick<GatewayContract, 'callApi' | 'callOperator'> {
  return {
    async callApi(method, path, { headers, body } = {}) {
      const response = await fetch(`${gateway.url}/api/orders${path}`, {
        method,
        headers: { authorization: `Bearer ${API_TOKEN}`, 'content-type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      return { status: response.status, headers: response.headers, json: text === '' ? {} : JSON.parse(text) }
    },
    async callOperator(method, procedure, input) {
      const query = method === 'GET' ? `?input=${encodeURIComponent(JSON.stringify(input))}` : ''
      const response = await fetch(`${gateway.adminUrl}/operator/${procedure}${query}`, {
        method,
        headers: { authorization: `Bearer ${OPERATOR_TOKEN}`, 'content-type': 'application/json' },
        ...(method === 'GET' ? {} : { body: JSON.stringify(input) }),
      })
      return { status: response.status, headers: response.headers, json: (await response.json()) as Received['json'] }
    },
  }
}

function exchangeOf(call: Call): Exchange {
  const { does, states = [{ description: 'nothing in particular' }], kind, input, answer } = call
  const isQuery = kind === 'query'
  const path = `/trpc/${call.procedure}`
  // No request makes the gateway hand on a payment.
  const isTraced = !call.procedure.startsWith('payments.')
  const headers = {
    ...(call.anonymous === true ? {} : { authorization: BEARER }),
    ...(isQuery ? {} : { 'content-type': 'application/json' }),
    ...(isTraced ? { 'x-request-id': regex(/^[\w.-]{8,128}$/, REQUEST_ID) } : {}),
  }
  const traced = { ...answer, headers: { ...answer.headers, ...(isTraced ? { 'X-Request-Id': REQUEST_ID } : {}) } }
  const body = input as NonNullable<Exchange['request']['body']>
  const request = isQuery
    ? { method: 'GET', path, query: { input: jsonOf(input) }, headers }
    : { method: 'POST', path, headers, body }
  return { does, states, request, answer: traced }
}

/**
 * A text that is this JSON, with the members of its objects in any order. It is a pattern, because Pact would parse a
 * text and write it in its own order.
 */
function jsonOf(value: object) {
  return regex(`^${patternOf(value)}$`, JSON.stringify(value))
}

function patternOf(value: unknown): string {
  if (Array.isArray(value)) return `\\[${value.map(patternOf).join(',')}\\]`
  if (typeof value !== 'object' || value === null) return literally(JSON.stringify(value))
  const members = Object.entries(value).map(
    ([name, member]) => `${literally(JSON.stringify(name))}:${patternOf(member)}`,
  )
  const orders = permutationsOf(members).map((order) => order.join(','))
  return orders.length === 1 ? `\\{${orders[0]}\\}` : `\\{(?:${orders.join('|')})\\}`
}

function permutationsOf(list: readonly string[]): string[][] {
  if (list.length === 0) return [[]]
  return list.flatMap((first, index) => permutationsOf(list.toSpliced(index, 1)).map((others) => [first, ...others]))
}

function literally(text: string): string {
  return text.replaceAll(/[[\]{}()*+?.\\^$|]/g, '\\$&')
}

/** The answer of a procedure that succeeds. */
export function data(value: object): Exchange['answer'] {
  return { status: 200, headers: JSON_TYPE, body: { result: { data: value } } } as Exchange['answer']
}

/** A refusal as the gateway reads it: the status, the code, the retry class, and the version behind a 412. */
export function refusal(status: number, reason: string, more: object = {}): Exchange['answer'] {
  const known = { httpStatus: status, reason, retry: 'never', ...more }
  const body = { error: { message: string('A sentence of fulfilment'), code: integer(-32_000), data: known } }
  return { status, headers: JSON_TYPE, body } as Exchange['answer']
}

/** A condition that fulfilment brings about before a call. */
export function state(description: string, parameters: NonNullable<NeededState['parameters']>): NeededState {
  return { description, parameters }
}

/** The condition that there is an order, `ord_<name>`. */
export const pending = (name: string, version = 1) => state('there is an order', { orderId: `ord_${name}`, version })
/** The condition that the order `ord_<name>` was paid. */
export const paid = (name: string) => state('an order was paid', { name })
/** The condition that the payment of the order `ord_<name>` failed. */
export const failed = (name: string) => state('the payment of an order failed', { name })
/** The condition that there is no order `ord_<name>`. */
export const absent = (name: string) => state('there is no order', { orderId: `ord_${name}` })

/** A time of the examples. */
export const TIME = '2026-11-21T08:00:00.000Z'
/** Any time. */
export const time = () => regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/, TIME)

/** An order as the gateway shows it to its caller. */
export function orderOf(id: unknown, version = 1, members: object = {}) {
  return {
    ...{ id, version, status: 'pending', ...CONTENT, amountDue: 1999, access: 'locked', payment: null },
    ...{ createdAt: time(), updatedAt: time() },
    ...members,
  }
}
