import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { createHandler, Refusal, type RetryAdvice } from '@oncehook/handler'
import { type MongoTransaction, mongo } from '@oncehook/handler/mongo'
import type { Secret } from '@oncehook/kernel/secrets/secret'
import type { TestDatabase } from '@oncehook/kernel/testing/test-database'
import { setUpMongo } from '../../packages/handler/src/mongo/set-up-mongo.ts'
import { countEffects } from './count-effects.ts'
import { HANDLER } from './sample-task.ts'
import type { NextAnswer, RefusalText, RunningTrpcHandler } from './trpc-handler.ts'

/** Starts a handler of `events.handle` that is made with the library `@oncehook/handler`, behind a load balancer. */
export async function startTrpcLibraryHandler(database: TestDatabase, secret: Secret): Promise<RunningTrpcHandler> {
  const address = new URL(database.uri.reveal())
  address.pathname = database.name
  await setUpMongo(address.href)
  const effects = await database.db.createCollection('effects')
  let next: NextAnswer = {}
  let said: Partial<RefusalText> = {}
  const advice = new Map<string, string>()
  const act = async ({ key }: { readonly key: string }, { db, session }: MongoTransaction): Promise<void> => {
    await db.collection('effects').insertOne({ key }, { session })
    const wanted = advice.get(key) ?? 'done'
    const { message = 'Not yet', retryAfter: afterSeconds = 60 } = said
    if (wanted !== 'done') throw new Refusal(wanted as RetryAdvice, message, { afterSeconds })
  }
  const handler = createHandler({
    ...{ name: HANDLER, store: mongo(database.client, { database: database.name }), on: { '*': act } },
    ...{ trpc: { secrets: secret.reveal() }, log: () => undefined },
  })
  const server = createServer(async (request, response) => {
    const body = await buffer(request)
    const { status, results = [], refusal = {} } = next
    next = {}
    said = refusal
    // What is in front of a handler answers these.
    if (status !== undefined) return response.writeHead(status, { 'content-type': 'application/json' }).end('{}')
    if (results.length > 0) readKeys(body).forEach((key, index) => void advice.set(key, results[index] ?? 'done'))
    const headers = Object.entries(request.headers).map(([name, value]): [string, string] => [name, String(value)])
    const asked = new Request(new URL(request.url ?? '/', 'http://handler.test'), { method: 'POST', headers, body })
    const answer = await handler.fetch(asked)
    return response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text())
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
      await handler.close()
    },
  }
}

function readKeys(body: Buffer): readonly string[] {
  const { events } = JSON.parse(body.toString('utf8')) as { readonly events: readonly { readonly key: string }[] }
  return events.map(({ key }) => key)
}
