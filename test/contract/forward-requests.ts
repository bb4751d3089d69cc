import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

/** A server in front of another one. */
interface Forwarder extends AsyncDisposable {
  readonly url: string
}

/** An answer that was passed on, and the path of its request. */
interface PassedAnswer {
  readonly path: string
  readonly isOk: boolean
  readonly text: string
}

// They belong to one connection, or fetch has already decoded them.
const NOT_FORWARDED = new Set(['connection', 'host', 'content-length', 'transfer-encoding', 'keep-alive'])

/** Starts a server that forwards each request to the server that `target` names then, and hands each answer to `hear`. */
export async function forwardRequests(
  target: () => string,
  hear: (answer: PassedAnswer) => void = () => undefined,
): Promise<Forwarder> {
  const server = createServer(async (request, response) => {
    const headers = Object.entries(request.headers).filter(([name]) => !NOT_FORWARDED.has(name)) as [string, string][]
    const body = await buffer(request)
    const { method = 'GET', url: path = '/' } = request
    const answer = await fetch(`${target()}${path}`, { method, headers, ...(method === 'GET' ? {} : { body }) })
    const text = await answer.text()
    hear({ path, isOk: answer.ok, text })
    response.writeHead(answer.status, [...answer.headers].filter(([name]) => !NOT_FORWARDED.has(name)).flat())
    response.end(text)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
