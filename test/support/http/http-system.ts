import { randomBytes, randomUUID } from 'node:crypto'
import {
  type RunningFulfilment,
  type StartOptions,
  startFulfilment,
} from '@oncehook/fulfilment/testing/start-fulfilment'
import type { Limits } from '@oncehook/gateway/start/gateway-context'
import { startGateway } from '@oncehook/gateway/testing/start-gateway'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import type { Clock } from '@oncehook/kernel/time/clock'
import { standardWebhooks } from '@oncehook/webhooks/signing/generic/standard-webhooks'
import type { Collection, Db } from 'mongodb'
import { BOTH_EFFECTS } from '../stack/stack-settings.ts'
import { expectSound, type HttpAnswer, toHttpAnswer } from './http-answer.ts'
import { exchangeOctets, type Octets, parseAnswers, type RawExchange } from './raw-http.ts'

/** A request. Whatever every request needs is added by default. */
export interface HttpCall {
  /** Default: GET. */
  readonly method?: string
  readonly target: string
  /** Several values make several lines. Undefined removes a header that would be added. */
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>
  /** An object is sent as JSON. */
  readonly body?: string | Buffer | object
  /** Whose token it carries. Default: alice; null: nobody's. */
  readonly principal?: 'alice' | 'bob' | null
}

/** How a test differs from the usual system. */
export interface HttpSystemOptions {
  /** Settings of the gateway, by the names of its environment. */
  readonly gateway?: Readonly<Record<string, string>>
  /** Limits of the gateway that differ from those of production. */
  readonly limits?: Partial<Limits>
  /** The gateway's. Default: that of the system. */
  readonly clock?: Clock
  readonly fulfilment?: Partial<StartOptions>
}

/** A gateway and a fulfilment in this process, on a real MongoDB. Tests talk to them in octets. */
export interface HttpSystem extends AsyncDisposable {
  /** The public port of the gateway. */
  readonly port: number
  readonly adminPort: number
  readonly fulfilment: RunningFulfilment
  /** The gateway's database. */
  readonly db: Db
  readonly events: Collection
  /** What both have logged. */
  readonly lines: readonly Record<string, unknown>[]
  /** Sends octets to the public port. */
  send(octets: Octets, deadlineMs?: number): Promise<RawExchange>
  /** Sends one request on a separate connection and returns its final answer, checked by `expectSound`. */
  call(call: HttpCall): Promise<HttpAnswer>
  /** The octets of a request, for tests that send several on one connection or tamper with them. */
  write(call: HttpCall): Buffer
  /** Delivers an event, signed for exactly these octets. */
  deliver(body: string | Buffer | object, headers?: HttpCall['headers']): Promise<HttpAnswer>
  /** A delivery, signed for exactly these octets. */
  delivery(body: string | Buffer | object, headers?: HttpCall['headers']): HttpCall
}

// Longer than any answer takes: the end of the connection ends the wait.
const ANSWERED_MS = 120_000

/** Where the deliveries of these tests go. */
export const WEBHOOK = '/api/webhooks/acme'
/** The origin that may use the orders API. */
export const ORIGIN = 'https://shop.example'

const tokens = { alice: randomBytes(24).toString('hex'), bob: randomBytes(24).toString('hex') }
const secret = `whsec_${randomBytes(24).toString('base64')}`

/** Starts both services; they stop, and their databases go, at the end of the scope. */
export async function startHttpSystem(options: HttpSystemOptions = {}): Promise<HttpSystem> {
  await using resources = new AsyncDisposableStack()
  const { logger, lines } = memoryLogger()
  const inner = resources.use(await testDatabase(process.env))
  const database = resources.use(await testDatabase(process.env))
  const place = { uri: inner.uri, database: inner.name, logger }
  const fulfilment = resources.use(await startFulfilment({ ...place, ...options.fulfilment }))
  const acme = { scheme: 'standard-webhooks', ...BOTH_EFFECTS, secrets: [{ id: 'only', value: secret }] }
  const gateway = resources.use(
    await startGateway({
      ...{ database, fulfilmentUrl: fulfilment.url, keys: fulfilment.keys, providers: { acme } },
      settings: { API_TOKENS: JSON.stringify(tokens), CORS_ORIGINS: ORIGIN, ...options.gateway },
      ...(options.limits && { limits: options.limits }),
      ...(options.clock && { clock: options.clock }),
    }),
  )
  const [port, adminPort] = [gateway.url, gateway.adminUrl].map((url) => Number(new URL(url).port)) as [number, number]
  const owned = resources.move()

  const send: HttpSystem['send'] = (octets, deadlineMs) => exchangeOctets(port, octets, deadlineMs)
  const call: HttpSystem['call'] = async (request) => {
    const exchange = await send(writeRequest(request), ANSWERED_MS)
    const answers = parseAnswers(exchange.octets, [request.method ?? 'GET'])
    const [answer, ...more] = answers
    if (answer === undefined || more.length > 0) throw new Error(`${answers.length} answers where one belongs`)
    return expectSound(toHttpAnswer(answer))
  }
  return {
    port,
    adminPort,
    fulfilment,
    db: database.db,
    events: database.db.collection('events'),
    get lines() {
      return [...lines, ...gateway.logs]
    },
    send,
    call,
    write: writeRequest,
    deliver: (body, headers) => call(signDelivery(body, headers)),
    delivery: signDelivery,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

function writeRequest({ method = 'GET', target, headers = {}, body, principal = 'alice' }: HttpCall): Buffer {
  const content = body === undefined || typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
  const fields: Record<string, string | readonly string[] | undefined> = {
    host: 'gateway.example',
    connection: 'close',
    authorization: principal === null ? undefined : `Bearer ${tokens[principal]}`,
    'content-type': content === undefined ? undefined : 'application/json',
    'content-length': content === undefined ? undefined : String(Buffer.byteLength(content)),
  }
  for (const [name, value] of Object.entries(headers)) {
    delete fields[name.toLowerCase()]
    fields[name] = value
  }
  const lines = Object.entries(fields).flatMap(([name, value]) =>
    (typeof value === 'string' ? [value] : (value ?? [])).map((one) => `${name}: ${one}\r\n`),
  )
  return Buffer.concat([
    Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1'),
    Buffer.from(content ?? ''),
  ])
}

function signDelivery(body: string | Buffer | object, headers: HttpCall['headers'] = {}): HttpCall {
  const content =
    typeof body === 'string' || Buffer.isBuffer(body) ? Buffer.from(body) : Buffer.from(JSON.stringify(body))
  const signed = standardWebhooks.sign({ body: content, secret, now: Date.now(), eventId: `msg_${randomUUID()}` })
  return {
    method: 'POST',
    target: WEBHOOK,
    principal: null,
    headers: { ...Object.fromEntries(signed), ...headers },
    body: content,
  }
}
