// By which names a private listener may be called. The owner of a name can point it at any address (DNS rebinding), and a page under that
// name could then read the answers, in the browser of somebody who can reach the listener. Nobody can do so with an address.
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'

/** Whether a request may call the listener by the name that it uses. */
export type CallsByOwnName = (request: Pick<IncomingMessage, 'headers' | 'url'>) => boolean

/** Accepts addresses, `localhost`, the host that the listener is bound to, and the names of the setting. */
export function ownNames(host: string, names: ReadonlySet<string>): CallsByOwnName {
  const own = new Set(['localhost', host.toLowerCase(), ...names])
  return ({ headers }) => {
    // Without a name, no browser has asked.
    if (headers.host === undefined) return true
    const name = URL.parse(`http://${headers.host}`)?.hostname ?? ''
    return own.has(name) || isIP(name.replace(/^\[(.+)\]$/, '$1')) !== 0
  }
}
