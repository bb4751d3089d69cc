import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A handler of a test: it answers each call as the test says, and remembers the keys. */
export interface AnsweringHandler extends AsyncDisposable {
  /** Its description in HANDLERS. */
  readonly settings: { readonly https: string; readonly secrets: readonly object[] }
  /** Key -> how often it was called with this key. */
  readonly calls: ReadonlyMap<string, number>
  /** How it answers from now on. */
  answer: (response: ServerResponse) => void
}

/** Starts a handler that answers 204 until the test says something else. */
export async function startAnsweringHandler(): Promise<AnsweringHandler> {
  const calls = new Map<string, number>()
  const handler = { calls, answer: (response: ServerResponse): void => void response.writeHead(204).end() }
  const server = createServer((request, response) => {
    request.resume().once('end', () => {
      const key = String(request.headers['webhook-id'])
      calls.set(key, (calls.get(key) ?? 0) + 1)
      handler.answer(response)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const secrets = [{ id: '1', value: `whsec_${randomBytes(32).toString('base64')}` }]
  return Object.assign(handler, {
    settings: { https: `http://127.0.0.1:${port}/webhooks`, secrets },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  })
}
