import type { IncomingMessage, ServerResponse } from 'node:http'
import { listen } from '@oncehook/kernel/http/server/listen'
import { readRawBody } from '@oncehook/kernel/http/server/raw-body'
import type { FakeFulfilment, ReceivedCommand } from './fake-fulfilment.ts'

/** One call as it was received. */
interface ReceivedCall {
  readonly procedure: string
  readonly method: string | undefined
  readonly headers: IncomingMessage['headers']
}

/** An answer that replaces the usual one. `hang` never answers. */
type CannedAnswer = { readonly status: number; readonly body: string } | 'hang' | 'reset'

/** A fake fulfilment behind HTTP, in the format of tRPC. */
export interface ServedFake extends AsyncDisposable {
  readonly url: string
  readonly received: ReceivedCall[]
  /** Called first for each call. If it returns null, the fake fulfilment answers. */
  canned: (call: ReceivedCall) => CannedAnswer | null
  close(): Promise<void>
}

/** Serves the procedure that carries events, on a listener with the same limits as the real one. */
export async function serveFake(fake: FakeFulfilment): Promise<ServedFake> {
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '', 'http://fake')
    const procedure = url.pathname.replace(/^\/trpc\//, '')
    const call = { procedure, method: request.method, headers: request.headers }
    served.received.push(call)
    const canned = procedure === 'payments.applyEvents' ? served.canned(call) : NOT_FOUND
    if (canned === 'hang') return
    if (canned === 'reset') {
      request.socket.destroy()
      return
    }
    if (canned !== null) {
      response.writeHead(canned.status, { 'Content-Type': 'application/json' }).end(canned.body)
      return
    }
    const text = await readRawBody(request, 1_048_576)
    const { events } = JSON.parse(String(text)) as { readonly events: ReceivedCommand[] }
    const data = { results: await fake.applyEvents(events) }
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify({ result: { data } }))
  }
  const listener = await listen({
    host: '127.0.0.1',
    port: 0,
    handler: (request, response) => void answer(request, response),
  })
  const close = (): Promise<void> => listener.close(0)
  const served: ServedFake = {
    url: `http://127.0.0.1:${listener.port}`,
    received: [],
    canned: () => null,
    close,
    [Symbol.asyncDispose]: close,
  }
  return served
}

const NOT_FOUND = { status: 404, body: 'Nothing is here' }
