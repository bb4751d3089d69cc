import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ApiObject } from './signers/signer.ts'

/** Where a provider's API is to listen, and who may ask. */
export interface ObjectApiOptions {
  /** On this machine only. 0: any that is free. */
  readonly port: number
  /** What stands in front of every path, without a slash at the end. */
  readonly basePath?: string
  /** Asked for as bearer token, or in GitLab's header. */
  readonly token: string
}

/** The API of a provider that has to be asked what an event is about. */
export interface ObjectApi extends AsyncDisposable {
  /** With the base path, without a slash at the end. */
  readonly url: string
  /** Makes an object known; one of the same path is replaced. */
  add(object: ApiObject): void
  /** The paths that were asked for, in order. */
  readonly asked: readonly string[]
}

/** Starts an API on the loopback interface that answers GETs with the objects it was given, 404 for any other. */
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
