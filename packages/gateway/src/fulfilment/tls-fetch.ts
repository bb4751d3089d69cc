import type { ClientTls } from '@oncehook/kernel/http/server/tls'
import type { CallFetch } from '@oncehook/kernel/secrets/service-token'
import { Agent, fetch, type RequestInit } from 'undici'

/**
 * Creates a fetch that uses the authorities and the client certificate that `current` returns. When these change, new
 * calls use new connections, and calls in progress end on the old ones.
 */
export function createTlsFetch(current: () => ClientTls | null): CallFetch {
  let used = current()
  let agent = createAgent(used)
  return async (address, init) => {
    const tls = current()
    if (tls !== used) {
      void agent.close()
      used = tls
      agent = createAgent(tls)
    }
    // Only the types differ: undici's own fetch reads the same properties, and its responses have them.
    const answer = await fetch(address, { ...(init as unknown as RequestInit), dispatcher: agent })
    return answer as unknown as Response
  }
}

function createAgent(tls: ClientTls | null): Agent {
  const { ca, pair } = tls ?? { ca: undefined, pair: null }
  // Otherwise like Node's own fetch: HTTP/1.1.
  return new Agent({ allowH2: false, connect: { ...(ca === undefined ? {} : { ca }), ...pair } })
}
