import { type IncomingHttpHeaders, request } from 'node:http'
import { text } from 'node:stream/consumers'

/** A request as it goes over the wire. Only Host and the framing of the body are added. */
export interface RawRequest {
  readonly method?: string
  readonly path: string
  readonly headers?: readonly (readonly [name: string, value: string])[]
  readonly body?: Uint8Array
  /** Whether the body is sent in chunks, without its length. */
  readonly chunked?: boolean
}

/** What came back. */
export interface RawAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** Sends a request on a separate connection. A body that is announced but not given is never sent. */
export async function sendRaw(
  url: string,
  { method = 'POST', path, headers = [], ...sent }: RawRequest,
): Promise<RawAnswer> {
  const { body = Buffer.alloc(0), chunked = false } = sent
  const outgoing = request(`${url}${path}`, { method, agent: false })
  for (const [name, value] of headers) outgoing.setHeader(name, value)
  const answered = new Promise<RawAnswer>((resolve, reject) => {
    outgoing.on('error', reject)
    outgoing.on('response', (incoming) => {
      const { statusCode: status = 0, headers: received } = incoming
      text(incoming).then((answer) => resolve({ status, headers: received, body: answer }), reject)
    })
  })
  if (outgoing.hasHeader('content-length')) outgoing.flushHeaders()
  else if (chunked) writeInChunks(outgoing, body)
  else outgoing.setHeader('content-length', body.length).end(body)
  try {
    return await answered
  } finally {
    outgoing.destroy()
  }
}

const CHUNK = 65_536

function writeInChunks(outgoing: ReturnType<typeof request>, body: Uint8Array): void {
  for (let from = 0; from < body.length; from += CHUNK) outgoing.write(body.subarray(from, from + CHUNK))
  outgoing.end()
}
