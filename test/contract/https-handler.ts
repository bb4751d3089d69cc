import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { createHandler, Refusal } from '@oncehook/handler'
import { type MongoTransaction, mongo } from '@oncehook/handler/mongo'
import type { TestDatabase } from '@oncehook/kernel/testing/test-database'
import { setUpMongo } from '../../packages/handler/src/mongo/set-up-mongo.ts'
import { countEffects } from './count-effects.ts'
import { HANDLER, TYPE } from './sample-task.ts'

/** How the next task is answered, instead of being done. */
export interface NextAnswer {
  readonly status: number
  readonly retryAfter?: number
}

/** A handler with `@oncehook/handler` on MongoDB, with a proxy in front, as it is operated. */
export interface RunningHandler extends AsyncDisposable {
  /** With the path `/webhooks`, and `/states` for creating states. */
  readonly url: string
  /** How often each key has had its effect. */
  effects(): Promise<Readonly<Record<string, number>>>
  /** Decides the answer to the next task. */
  answerNext(answer: NextAnswer): void
}

/** Starts the handler of the contracts in this process. */
export async function startHttpsHandler(database: TestDatabase, secret: string): Promise<RunningHandler> {
  const address = new URL(database.uri.reveal())
  address.pathname = database.name
  await setUpMongo(address.href)
  const effects = database.db.collection('effects')
  await database.db.createCollection('effects')
  let next: NextAnswer | null = null
  const take = (): NextAnswer | null => {
    const taken = next
    next = null
    return taken
  }
  const handler = createHandler<MongoTransaction>({
    ...{ name: HANDLER, secrets: secret, store: mongo(database.client, { database: database.name }) },
    log: () => undefined,
    on: {
      async [TYPE]({ key }, { db, session }) {
        refuse(take())
        await db.collection('effects').insertOne({ key }, { session })
      },
    },
  })
  const front = createServer(async (request, response) => {
    if (request.url === '/states') {
      const { params } = JSON.parse(await text(request)) as { params: NextAnswer }
      next = params
      response.writeHead(204).end()
      return
    }
    if (next !== null && !OWN_STATUSES.has(next.status)) {
      const { status, retryAfter } = take() ?? { status: 500 }
      request.resume()
      response.writeHead(status, retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }).end()
      return
    }
    const answer = await handler.fetch(await toRequest(request))
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text())
  })
  await new Promise<void>((listening) => front.listen(0, '127.0.0.1', listening))
  const { port } = front.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    effects: () => countEffects(effects),
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

/** The statuses that a function of the handler can cause. The others are answers of what is in front of it. */
const OWN_STATUSES: ReadonlySet<number> = new Set([409, 422, 500])

function refuse(next: NextAnswer | null): void {
  if (next === null) return
  const { status, retryAfter = 60 } = next
  if (status === 500) throw new Error('The function fails')
  if (status === 422) throw new Refusal('never', 'The function refuses the event')
  throw new Refusal('later', 'The function refuses the event for now', { afterSeconds: retryAfter })
}

async function toRequest(request: IncomingMessage): Promise<Request> {
  const { method = 'GET', url = '/', headers } = request
  const lines = Object.entries(headers).flatMap(([name, value]): [string, string][] => [[name, String(value)]])
  const body = await text(request)
  return new Request(`http://127.0.0.1${url}`, { method, headers: lines, ...(method === 'POST' ? { body } : {}) })
}
