import type { IncomingMessage, ServerResponse } from 'node:http'
import { listen } from '@oncehook/kernel/http/server/listen'
import { readRawBody } from '@oncehook/kernel/http/server/raw-body'
import type { FakeFulfilment, ReceivedCommand } from './fake-fulfilment.ts'

/** One call as it was received. */
interface ReceivedCall {
  readonly procedure: string
  readonly method: string | undefined
  readonly headers: IncomingMessage['headers']
  /** The length of the request line and the header lines together, in bytes. */
  readonly headBytes: number
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

/** Serves the two procedures that carry events, on a listener with the same limits as the real one. */
export async function serveFake(fake: FakeFulfilment): Promise<ServedFake> {
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '', 'http://fake')
    const procedure = url.pathname.replace(/^\/trpc\//, '')
    const call = { procedure, method: request.method, headers: request.headers, headBytes: headBytesOf(request) }
    served.received.push(call)
    const canned = PROCEDURES.has(procedure) ? served.canned(call) : NOT_FOUND
    if (canned === 'hang') return
    if (canned === 'reset') {
      request.socket.destroy()
      return
    }
    if (canned !== null) {
      response.writeHead(canned.status, { 'Content-Type': 'application/json' }).end(canned.body)
      return
    }
    const input = await readInput(request, url)
    const data = await run(fake, procedure, input)
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

function headBytesOf({ method = '', url = '', rawHeaders }: IncomingMessage): number {
  const lines = [`${method} ${url} HTTP/1.1`, ...rawHeaders.filter((_, at) => at % 2 === 1)]
  const names = rawHeaders.filter((_, at) => at % 2 === 0)
  return Buffer.byteLength([...lines, ...names].join('\r\n')) + 2
}

const PROCEDURES = new Set(['payments.versions', 'payments.applyEvents'])
const NOT_FOUND = { status: 404, body: 'Nothing is here' }

type Input = { readonly orderIds: string[]; readonly events: ReceivedCommand[] }

async function readInput(request: IncomingMessage, url: URL): Promise<Input> {
  const text = request.method === 'GET' ? url.searchParams.get('input') : await readRawBody(request, 1_048_576)
  return JSON.parse(String(text)) as Input
}

async function run({ procedures }: FakeFulfilment, procedure: string, input: Input): Promise<unknown> {
  if (procedure === 'payments.versions') return Object.fromEntries(await procedures.versions(input.orderIds))
  return { results: await procedures.applyEvents(input.events) }
}
