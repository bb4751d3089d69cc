import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, expect, it } from 'vitest'
import type { HttpAnswer } from '../support/http/http-answer.ts'
import { ORDERS, orderContent } from '../support/http/http-orders.ts'
import { type HttpCall, startHttpSystem } from '../support/http/http-system.ts'
import { type Condition, EMPTY, type ModelAnswer, type ModelRequest, type ModelState, step } from './orders-model.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const system = stack.use(await startHttpSystem())

const CLIENTS = 4
// All that is asked of one sequence is about its own orders and keys, so several can run at the same time.
const SEQUENCES = ['first', 'second', 'third', 'fourth', 'fifth']
const RUNS = 5

/** One move of a client, before it is known what the client has seen. */
interface Move {
  readonly client: number
  readonly method: ModelRequest['method']
  readonly slot: number
  readonly ifMatch: Condition | null
  readonly ifNoneMatch: Condition | null
  readonly note: string
  readonly key: string
}

const conditions = fc.option(
  fc.constantFrom<Condition>('known', 'known', 'oldest', 'next', 'star', 'weak', 'list', 'never'),
)
const moves: fc.Arbitrary<Move> = fc.record({
  client: fc.nat(CLIENTS - 1),
  method: fc.constantFrom<Move['method']>('GET', 'HEAD', 'PUT', 'PUT', 'PATCH', 'PATCH', 'DELETE', 'POST', 'POST'),
  slot: fc.nat(1),
  ifMatch: conditions,
  ifNoneMatch: fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: conditions }),
  note: fc.constantFrom('a', 'b', 'c'),
  key: fc.constantFrom('k1', 'k2'),
})
/** The requests that are sent together: one move per client. */
const rounds = fc.uniqueArray(moves, { minLength: 1, maxLength: CLIENTS, selector: ({ client }) => client })

/** A client, and the versions of each order that it has seen. */
class Client {
  readonly #seen = new Map<string, number[]>()

  learn(path: string, version: number | undefined): void {
    if (version !== undefined) this.#seen.set(path, [...(this.#seen.get(path) ?? []), version])
  }

  /** The header value for a condition. */
  tagOf(condition: Condition | null, path: string): string | undefined {
    if (condition === null) return undefined
    const versions = this.#seen.get(path) ?? [1]
    const [oldest = 1, known = 1] = [versions[0], versions.at(-1)]
    const tags: Record<Condition, string> = {
      known: `"${known}"`,
      oldest: `"${oldest}"`,
      next: `"${known + 1}"`,
      star: '*',
      weak: `W/"${known}"`,
      list: `"never", "${oldest}", "${known}"`,
      never: '"never"',
    }
    return tags[condition]
  }
}

interface Sent {
  readonly client: Client
  readonly request: ModelRequest
  readonly answer: HttpAnswer
}

it.concurrent.each(SEQUENCES)(
  'random conditional requests of several clients, %s sequences, have the same effect as if sent one after the other: no update is lost, no version goes back, no key has two effects',
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(rounds, { minLength: 4, maxLength: 12 }), async (sequence) => {
        const run = randomUUID()
        const clients = Array.from({ length: CLIENTS }, () => new Client())
        let states = [EMPTY]
        for (const round of sequence) {
          const sent = await Promise.all(round.map((move) => send(move, clients[move.client] ?? new Client(), run)))
          const after = explain(states, sent)
          if (after.length === 0) fail(states, sent)
          states = after
          for (const { client, request, answer } of sent)
            if (request.path) client.learn(request.path, versionOf(answer))
        }
        const contents = await readAll(run)
        expect(states.map((state) => contentsOf(state))).toContainEqual(contents)
      }),
      { numRuns: RUNS },
    )
  },
)

async function send(move: Move, client: Client, run: string): Promise<Sent> {
  const { method, note } = move
  if (method === 'POST') {
    const request: ModelRequest = { method, path: null, note, key: `${move.key}_${run}` }
    return { client, request, answer: await system.call(callOf(request, run)) }
  }
  const path = `${ORDERS}/o_${move.slot}_${run}`
  const tags = { ifMatch: client.tagOf(move.ifMatch, path), ifNoneMatch: client.tagOf(move.ifNoneMatch, path) }
  const request: ModelRequest = { method, path, note, ...tags }
  return { client, request, answer: await system.call(callOf(request, run)) }
}

function callOf({ method, path, note, key, ifMatch, ifNoneMatch }: ModelRequest, run: string): HttpCall {
  const headers = { 'if-match': ifMatch, 'if-none-match': ifNoneMatch, 'idempotency-key': key }
  const call = { method, target: path ?? ORDERS, headers }
  if (method === 'PATCH') return { ...call, body: { note } }
  return method === 'PUT' || method === 'POST' ? { ...call, body: orderContent({ customerId: run, note }) } : call
}

/**
 * The possible states of the service after concurrent requests: one for each sequence in which they could have come one
 * by one with the same answers (linearizability). If there is none, something went wrong.
 */
function explain(states: readonly ModelState[], sent: readonly Sent[]): ModelState[] {
  const waiting = sent.filter((one) => isWaiting(one, sent))
  const counted = sent.filter((one) => !waiting.includes(one))
  const ends = new Map<string, ModelState>()
  for (const state of states) {
    for (const end of endsOf(state, counted)) ends.set(JSON.stringify([[...end.orders], [...end.keys]]), end)
  }
  return [...ends.values()]
}

function endsOf(state: ModelState, open: readonly Sent[]): ModelState[] {
  if (open.length === 0) return [state]
  return open.flatMap((next) => {
    const [after, expected] = step(state, next.request, next.answer.text)
    const others = open.filter((sent) => sent !== next)
    return isAsExpected(next, expected) ? endsOf(after, others) : []
  })
}

/** A 409 with a time to retry has no effect. It is possible while another request with the key may be running. */
function isWaiting({ request, answer }: Sent, sent: readonly Sent[]): boolean {
  if (answer.status !== 409 || request.key === undefined || answer.headers['retry-after'] !== '1') return false
  return sent.some((other) => other.answer.status === 201 && other.request.key === request.key)
}

function isAsExpected({ request, answer }: Sent, { status, version, note, text }: ModelAnswer): boolean {
  if (answer.status !== status || versionOf(answer) !== version) return false
  if (text !== undefined && answer.text !== text) return false
  if ((answer.headers['idempotent-replayed'] === 'true') !== (text !== undefined)) return false
  return note === undefined || request.method === 'HEAD' || answer.json.note === note
}

function versionOf({ headers }: HttpAnswer): number | undefined {
  return headers.etag === undefined ? undefined : Number(/^"(\d+)"$/.exec(headers.etag)?.[1])
}

function fail(states: readonly ModelState[], sent: readonly Sent[]): never {
  const told = sent.map(({ request, answer }) => ({
    ...request,
    told: [answer.status, answer.headers.etag, answer.text],
  }))
  const orders = states.map((state) => [...state.orders])
  throw new Error(
    `No order of these requests explains what they were told: ${JSON.stringify({ orders, told }, null, 1)}`,
  )
}

interface Contents {
  /** Version and note of each order that was put. */
  readonly orders: Readonly<Record<string, readonly [number, string]>>
  /** How many orders were made under keys. */
  readonly made: number
}

function contentsOf({ orders, keys }: ModelState): Contents {
  const live = [...orders].flatMap(([path, { version, note }]) =>
    note === null ? [] : [[path, [version, note]] as const],
  )
  return { orders: Object.fromEntries(live), made: keys.size }
}

/** Everything that is stored of a run. */
async function readAll(run: string): Promise<Contents> {
  const orders = system.fulfilment.db.collection<{ _id: string; version: number; note: string }>('orders')
  const stored = await orders.find({ customerId: run }).toArray()
  const put = stored.filter(({ _id }) => _id.startsWith('o_'))
  const entries = put.map(({ _id, version, note }) => [`${ORDERS}/${_id}`, [version, note]] as const)
  return { orders: Object.fromEntries(entries), made: stored.length - put.length }
}
