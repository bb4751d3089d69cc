import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

/** What a procedure answered when it succeeded. */
export interface HeardAnswer {
  readonly procedure: string
  readonly data: unknown
}

/** A server in front of fulfilment. It forwards every request, and keeps the answers of the procedures. */
export interface Listened extends AsyncDisposable {
  readonly url: string
  readonly answers: readonly HeardAnswer[]
}

// They belong to one connection, or fetch has already decoded them.
const NOT_FORWARDED = new Set(['connection', 'host', 'content-length', 'transfer-encoding', 'keep-alive'])

/** Listens to all that fulfilment answers: Pact compares only what the consumer has written down. */
export async function listenToAnswers(target: string): Promise<Listened> {
  const answers: HeardAnswer[] = []
  const server = createServer(async (request, response) => {
    const headers = Object.entries(request.headers).filter(([name]) => !NOT_FORWARDED.has(name)) as [string, string][]
    const body = await buffer(request)
    const { method = 'GET', url = '/' } = request
    const answer = await fetch(`${target}${url}`, { method, headers, ...(method === 'GET' ? {} : { body }) })
    const text = await answer.text()
    if (answer.ok) {
      const procedure = url.replace('/trpc/', '').split('?', 1)[0] ?? ''
      answers.push({ procedure, data: (JSON.parse(text) as { result: { data: unknown } }).result.data })
    }
    response.writeHead(answer.status, [...answer.headers].filter(([name]) => !NOT_FORWARDED.has(name)).flat())
    response.end(text)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answers,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
