import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { Readable } from 'node:stream'

/** A handler of the fetch standard. */
export type FetchHandler = (request: Request) => Promise<Response>

/** Makes a server of Node.js for a handler of the fetch standard. It answers 500 if the handler rejects. */
export function createFetchServer(handler: FetchHandler): Server {
  return createServer((incoming, outgoing) => void answer(handler, incoming, outgoing))
}

async function answer(handler: FetchHandler, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  try {
    const response = await handler(toRequest(incoming))
    const body = Buffer.from(await response.arrayBuffer())
    outgoing.writeHead(response.status, Object.fromEntries(response.headers)).end(body)
  } catch {
    outgoing.writeHead(500).end()
  }
}

function toRequest(incoming: IncomingMessage): Request {
  const { method = 'GET', url = '/', headersDistinct } = incoming
  const headers = Object.entries(headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  )
  const body =
    method === 'GET' || method === 'HEAD' ? {} : ({ body: Readable.toWeb(incoming), duplex: 'half' } as const)
  return new Request(`http://127.0.0.1${url}`, { method, headers, ...body })
}
