import { createPublicKey } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { createHandler, Refusal, type RetryAdvice } from '@oncehook/handler'
import { type MongoTransaction, mongo } from '@oncehook/handler/mongo'
import type { TestDatabase } from '@oncehook/kernel/testing/test-database'
import type { CalledBy } from '../../packages/cli/src/contract/published-contracts.ts'
import { setUpMongo } from '../../packages/handler/src/mongo/set-up-mongo.ts'
import { HANDLER, TYPE } from './sample-task.ts'

/** How the next call is answered, instead of being done. */
export interface NextAnswer {
  readonly status?: number
  /** By tRPC, for each task: `done`, or when to try again. */
  readonly results?: readonly string[]
  readonly message?: string
  readonly retryAfter?: number
}

/** A handler with `@oncehook/handler` on MongoDB, with a proxy in front, as it is operated. */
export interface ContractHandler extends AsyncDisposable {
  readonly url: string
  /** How often each key has had its effect. */
  effects(): Promise<Readonly<Record<string, number>>>
  /** Decides the answer to the next call. */
  answerNext(answer: NextAnswer): void
}

/** The statuses that a function of a handler by HTTPS can cause. The others are answers of what is in front of it. */
const CAUSED: ReadonlyMap<number | undefined, string> = new Map([
  [409, 'later'],
  [422, 'never'],
  [500, 'fails'],
])

/** Starts the handler of the contracts in this process. */
export async function startContractHandler(
  database: TestDatabase,
  by: CalledBy,
  secret: string,
): Promise<ContractHandler> {
  const address = new URL(database.uri.reveal())
  address.pathname = database.name
  await setUpMongo(address.href)
  const effects = await database.db.createCollection('effects')
  let next: NextAnswer = {}
  const wanted = new Map<string, { readonly result: string; readonly answer: NextAnswer }>()
  const act = async ({ key }: { readonly key: string }, { db, session }: MongoTransaction): Promise<void> => {
    await db.collection('effects').insertOne({ key }, { session })
    const { result = 'done', answer: { message = 'Not yet', retryAfter: afterSeconds = 60 } = {} } =
      wanted.get(key) ?? {}
    if (result === 'fails') throw new Error('The function fails')
    if (result !== 'done') throw new Refusal(result as RetryAdvice, message, { afterSeconds })
  }
  const handler = createHandler({
    ...{ name: HANDLER, store: mongo(database.client, { database: database.name }), log: () => undefined },
    ...(by === 'https' ? { secrets: secret } : { trpc: { publicKeys: publicHalf(secret) } }),
    on: { [TYPE]: act },
  })
  const front = createServer(async (request, response) => {
    const body = await buffer(request)
    const answer = by === 'https' ? throughFunction(next) : next
    next = {}
    const { status, retryAfter, results = [] } = answer
    if (status !== undefined) {
      return response.writeHead(status, retryAfter === undefined ? [] : ['retry-after', String(retryAfter)]).end()
    }
    for (const [index, result] of results.entries()) wanted.set(keysOf(body)[index] ?? '', { result, answer })
    const headers = Object.entries(request.headers).map(([name, value]): [string, string] => [name, String(value)])
    const asked = new Request(new URL(request.url ?? '/', 'http://handler.test'), { method: 'POST', headers, body })
    const answered = await handler.fetch(asked)
    return response.writeHead(answered.status, Object.fromEntries(answered.headers)).end(await answered.text())
  })
  await new Promise<void>((listening) => front.listen(0, '127.0.0.1', listening))
  return {
    url: `http://127.0.0.1:${(front.address() as AddressInfo).port}`,
    async effects() {
      const counts = Map.groupBy(await effects.find().toArray(), ({ key }) => String(key))
      return Object.fromEntries(Array.from(counts, ([key, all]) => [key, all.length]))
    },
    answerNext(answer) {
      next = answer
    },
    async [Symbol.asyncDispose]() {
      front.closeAllConnections()
      await new Promise((closed) => front.close(closed))
      await handler.close()
    },
  }
}

/** The same answer, caused by the function if it can cause it. */
function throughFunction({ status, ...said }: NextAnswer): NextAnswer {
  const result = CAUSED.get(status)
  if (result !== undefined) return { ...said, results: [result] }
  return status === undefined ? said : { ...said, status }
}

/** The keys of the tasks of a call, in their order. */
function keysOf(body: Buffer): readonly string[] {
  const { key, events = [{ key }] } = JSON.parse(body.toString('utf8'))
  return (events as readonly { readonly key: string }[]).map((event) => event.key)
}

function publicHalf(privateKey: string): string {
  return String(createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }))
}
