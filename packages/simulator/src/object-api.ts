import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ApiObject } from '@oncehook/webhooks/signing/signer'

/** Where a fake provider API listens, and its token. */
export interface ObjectApiOptions {
  /** A port of the loopback interface. 0: any free port. */
  readonly port: number
  /** The prefix of every path, without a trailing slash. */
  readonly basePath?: string
  /** Required as bearer token, or in GitLab's header. */
  readonly token: string
}

/** A fake API of a provider that the gateway must query about its events. */
export interface ObjectApi extends AsyncDisposable {
  /** With the base path, without a trailing slash. */
  readonly url: string
  /** Adds an object. It replaces an object with the same path. */
  add(object: ApiObject): void
  /** The requested paths, in order. */
  readonly asked: readonly string[]
}

/** Starts an API on the loopback interface. It answers GET requests with the added objects, and others with 404. */
export async function startObjectApi({ port, basePath = '', token }: ObjectApiOptions): Promise<ObjectApi> {
  const objects = new Map<string, string>()
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(request.url ?? '')
    if (!isAllowed(request, token)) return answer(response, 401, '{"message":"Unauthorized"}')
    const body = request.method === 'GET' ? objects.get(request.url ?? '') : undefined
    return body === undefined ? answer(response, 404, '{"message":"Not found"}') : answer(response, 200, body)
  }).listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${basePath}`,
    add: ({ path, body }) => void objects.set(`${basePath}${path}`, JSON.stringify(body)),
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

function isAllowed({ headers }: IncomingMessage, token: string): boolean {
  return headers.authorization === `Bearer ${token}` || headers['private-token'] === token
}

function answer(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(body)
}
