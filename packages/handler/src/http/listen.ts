import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type Answer, answerError, NOT_FOUND } from './answer.ts'
import type { Responder } from './respond.ts'

export interface ServedParts {
  readonly responders: ReadonlyMap<string, Responder>
  /** The answer to a GET of a probe; null for any other path. */
  readonly probe: (path: string) => Promise<Answer> | null
  readonly onError: (error: unknown) => void
}

export interface Listening {
  readonly port: number
  /** Stops accepting connections. Resolves when the last one is closed; after `graceMs` it closes them. */
  close(graceMs: number): Promise<void>
}

/** Serves deliveries and probes on a port. Rejects if the port is taken. */
export async function listen(parts: ServedParts, port: number, host: string): Promise<Listening> {
  const server = createServer((request, response) => {
    void answerRequest(parts, request).then((answer) => {
      // A connection that stays open would delay the end of a server that is closing.
      if (!server.listening) response.shouldKeepAlive = false
      try {
        write(response, answer)
      } catch (error) {
        parts.onError(error)
        if (response.headersSent) response.destroy()
        else write(response, FAILED)
      }
    })
  })
  server.headersTimeout = 10_000
  server.listen(port, host)
  await once(server, 'listening')
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    close: (graceMs) => closeServer(server, graceMs),
  }
}

function write(response: ServerResponse, { status, headers, body }: Answer): void {
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) }).end(body)
}

async function answerRequest(parts: ServedParts, request: IncomingMessage): Promise<Answer> {
  try {
    return await route(parts, request)
  } catch (error) {
    parts.onError(error)
    return FAILED
  }
}

const FAILED = answerError({ status: 500, error: 'failed', message: 'The request failed', retry: 'later' })

async function route({ responders, probe }: ServedParts, request: IncomingMessage): Promise<Answer> {
  const { method = 'GET', url = '/' } = request
  const [asked = ''] = url.split('?', 1)
  // The connection must not end with the reading: the sender would not get the answer.
  const readBody = () => request.iterator({ destroyOnReturn: false })
  const respond = responders.get(asked)
  if (respond !== undefined) return respond({ method, headers: headersOf(request), readBody })
  return (method === 'GET' ? await probe(asked) : null) ?? NOT_FOUND
}

/** `append` joins the values of a repeated header, as the fetch standard does. */
function headersOf({ headersDistinct }: IncomingMessage): Headers {
  const headers = new Headers()
  for (const [name, values = []] of Object.entries(headersDistinct)) {
    for (const value of values) headers.append(name, value)
  }
  return headers
}

async function closeServer(server: Server, graceMs: number): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.closeIdleConnections()
  const timer = setTimeout(() => server.closeAllConnections(), graceMs)
  await closed
  clearTimeout(timer)
}
