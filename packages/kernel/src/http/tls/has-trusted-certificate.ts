import type { IncomingMessage } from 'node:http'
import { TLSSocket } from 'node:tls'

/** Whether the client presented a currently valid certificate from an authority that the listener trusts. */
export function hasTrustedCertificate({ socket }: IncomingMessage): boolean {
  return socket instanceof TLSSocket && socket.authorized
}
