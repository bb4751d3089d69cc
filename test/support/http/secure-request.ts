import type { IncomingHttpHeaders } from 'node:http'
import { request } from 'node:https'
import { text } from 'node:stream/consumers'
import type { RawAnswer, RawRequest } from './raw-request.ts'

/** A server that terminates TLS with its own certificate. */
export interface SecureServer {
  /** `https://host:port`. */
  readonly url: string
  /** The certificate that it must show, PEM. */
  readonly certificate: string
}

/** Sends a request over TLS on a separate connection, to a server that shows exactly this certificate for this host. */
export async function sendSecure(
  { url, certificate }: SecureServer,
  { method = 'POST', path, headers = [], body = Buffer.alloc(0) }: RawRequest,
): Promise<RawAnswer> {
  const outgoing = request(`${url}${path}`, { method, agent: false, ca: certificate })
  for (const [name, value] of headers) outgoing.setHeader(name, value)
  const answered = new Promise<{ status: number; headers: IncomingHttpHeaders; body: string }>((resolve, reject) => {
    outgoing.on('error', reject)
    outgoing.on('response', (incoming) => {
      const { statusCode: status = 0, headers: received } = incoming
      text(incoming).then((answer) => resolve({ status, headers: received, body: answer }), reject)
    })
  })
  outgoing.setHeader('content-length', body.length).end(body)
  try {
    return await answered
  } finally {
    outgoing.destroy()
  }
}
