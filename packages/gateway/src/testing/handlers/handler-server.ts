import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { listen } from '@oncehook/kernel/http/server/listen'
import { readRawBody } from '@oncehook/kernel/http/server/raw-body'

/** A call as a handler received it. */
interface ReceivedTask {
  readonly headers: IncomingHttpHeaders
  readonly path: string
  readonly body: string
}

/** An answer: a status with headers and a JSON body. `hang` never answers. */
type HandlerAnswer =
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly json?: unknown }
  | 'hang'

/** A handler of a test, behind HTTP. */
export interface HandlerServer extends AsyncDisposable {
  readonly url: string
  readonly received: ReceivedTask[]
  /** Decides about each call. Default: 204. */
  answer: (call: ReceivedTask) => HandlerAnswer | Promise<HandlerAnswer>
}

const MOST_BYTES = 10_000_000

/** Starts a handler that keeps what it receives. */
export async function startHandlerServer(port = 0): Promise<HandlerServer> {
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = Buffer.from(await readRawBody(request, MOST_BYTES)).toString('utf8')
    const call = { headers: request.headers, path: request.url ?? '', body }
    server.received.push(call)
    send(response, await server.answer(call))
  }
  const handler = (request: IncomingMessage, response: ServerResponse): void => void receive(request, response)
  const listener = await listen({ host: '127.0.0.1', port, handler })
  const server: HandlerServer = {
    url: `http://127.0.0.1:${listener.port}`,
    received: [],
    answer: () => ({ status: 204 }),
    [Symbol.asyncDispose]: () => listener.close(0),
  }
  return server
}

function send(response: ServerResponse, answer: HandlerAnswer): void {
  if (answer === 'hang') return
  const { status, headers = {}, json } = answer
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(json === undefined ? '' : JSON.stringify(json))
}
