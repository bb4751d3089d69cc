import { hash } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { type MongoTransaction, mongo } from '@oncehook/handler/mongo'
import { unauthenticated } from '@oncehook/kernel/http/error-codes'
import { keyOfSecret } from '@oncehook/kernel/secrets/parse-service-key'
import type { Secret } from '@oncehook/kernel/secrets/secret'
import { createServiceTokenVerifier } from '@oncehook/kernel/secrets/service-token'
import type { TestDatabase } from '@oncehook/kernel/testing/test-database'
import { systemClock } from '@oncehook/kernel/time/clock'
import { z } from 'zod'
import { setUpMongo } from '../../packages/handler/src/mongo/set-up-mongo.ts'
import type { Store } from '../../packages/handler/src/store.ts'
import { countEffects } from './count-effects.ts'
import { HANDLER } from './sample-task.ts'

const inputSchema = z.object({
  handler: z.literal(HANDLER),
  events: z.array(z.object({ key: z.string(), type: z.string(), attempt: z.int().min(1) })),
})

type Event = z.output<typeof inputSchema>['events'][number]

/** What a refusal says besides its advice. */
export interface RefusalText {
  readonly message: string
  readonly retryAfter: number
}

/** What the next call is answered with. `done` acts on the task. */
export interface NextAnswer {
  readonly status?: number
  readonly results?: readonly string[]
  readonly refusal?: RefusalText
}

/** A handler of `events.handle` with its keys and effects in MongoDB. */
export interface RunningTrpcHandler extends AsyncDisposable {
  readonly url: string
  answerNext(answer: NextAnswer): void
  /** How often each key has had its effect. */
  effects(): Promise<Readonly<Record<string, number>>>
}

/**
 * Starts a handler that speaks the wire format of tRPC without a library of tRPC, as one in another language does. It
 * needs no more than docs/handlers.md says.
 */
export async function startTrpcHandler(database: TestDatabase, secret: Secret): Promise<RunningTrpcHandler> {
  const address = new URL(database.uri.reveal())
  address.pathname = database.name
  await setUpMongo(address.href)
  const effects = await database.db.createCollection('effects')
  const store = mongo(database.client, { database: database.name })
  const verify = createServiceTokenVerifier({
    ...{ keys: () => [keyOfSecret(secret)], issuer: 'gateway', audience: HANDLER },
    clock: systemClock,
  })
  let next: NextAnswer = {}
  const answer = async (request: IncomingMessage): Promise<{ status: number; json: object }> => {
    const body = await buffer(request)
    const token = await verify(request.headers.authorization)
    token.checkProcedure(request.url?.replace(/^\/trpc\//, '') ?? '')
    token.checkInput(body)
    const { status = 200, results = [], refusal } = next
    next = {}
    if (status !== 200) return { status, json: { error: {} } }
    const { events } = inputSchema.parse(JSON.parse(body.toString('utf8')))
    const asked = events.map((event, index) => handle(store, event, { wanted: results[index], refusal }))
    return { status, json: { result: { data: { results: await Promise.all(asked) } } } }
  }
  const server = createServer(async (request, response) => {
    const { status, json } = await answer(request).catch((error: unknown) => {
      return { status: unauthenticated.is(error) ? 401 : 400, json: { error: {} } }
    })
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json))
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answerNext(given) {
      next = given
    },
    effects: () => countEffects(effects),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    },
  }
}

interface Answer {
  readonly wanted: string | undefined
  readonly refusal: RefusalText | undefined
}

async function handle(store: Store<MongoTransaction>, { key, type }: Event, answer: Answer): Promise<object> {
  const { wanted = 'done', refusal } = answer
  if (wanted !== 'done') return { refused: 'not_yet', retry: wanted, ...refusal }
  const result = await store.once({
    ...{ handler: HANDLER, key, bodyHash: hash('sha256', type), keepMs: 3_600_000, waitMs: 5_000, timeoutMs: 10_000 },
    laterNames: new Set(),
    work: ({ db, session }) => db.collection('effects').insertOne({ key }, { session }),
  })
  return 'repeated' in result ? { done: true } : { refused: result.outcome, retry: 'later' }
}
