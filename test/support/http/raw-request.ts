import { type IncomingHttpHeaders, request } from 'node:http'
import { request as secureRequest } from 'node:https'
import { text } from 'node:stream/consumers'

/** A request as it goes over the wire. Only Host and the framing of the body are added. */
export interface RawRequest {
  readonly method?: string
  readonly path: string
  readonly headers?: readonly (readonly [name: string, value: string])[]
  readonly body?: Uint8Array
}

/** What came back. */
export interface RawAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** A server that terminates TLS with its own certificate. */
export interface SecureServer {
  /** `https://host:port`. */
  readonly url: string
  /** The certificate that it must show, PEM. */
  readonly certificate: string
}

/** Sends a request on a separate connection. A body that is announced but not given is never sent. */
export function sendRaw(url: string, raw: RawRequest): Promise<RawAnswer> {
  const { method = 'POST', path } = raw
  return exchange(request(`${url}${path}`, { method, agent: false }), raw)
}

/** Sends a request over TLS, to a server that shows exactly this certificate for this host. */
export function sendSecure({ url, certificate }: SecureServer, raw: RawRequest): Promise<RawAnswer> {
  const { method = 'POST', path } = raw
  return exchange(secureRequest(`${url}${path}`, { method, agent: false, ca: certificate }), raw)
}

async function exchange(
  outgoing: ReturnType<typeof request>,
  { headers = [], body = Buffer.alloc(0) }: RawRequest,
): Promise<RawAnswer> {
  for (const [name, value] of headers) outgoing.setHeader(name, value)
  const answered = new Promise<RawAnswer>((resolve, reject) => {
    outgoing.on('error', reject)
    outgoing.on('response', (incoming) => {
      const { statusCode: status = 0, headers: received } = incoming
      text(incoming).then((answer) => resolve({ status, headers: received, body: answer }), reject)
    })
  })
  if (outgoing.hasHeader('content-length')) outgoing.flushHeaders()
  else outgoing.setHeader('content-length', body.length).end(body)
  try {
    return await answered
  } finally {
    outgoing.destroy()
  }
}
