import type { IncomingMessage } from 'node:http'
import { TLSSocket } from 'node:tls'

/** Whether the caller showed a certificate of an authority that the listener trusts, in its time of validity. */
export function hasTrustedCertificate({ socket }: IncomingMessage): boolean {
  return socket instanceof TLSSocket && socket.authorized
}
