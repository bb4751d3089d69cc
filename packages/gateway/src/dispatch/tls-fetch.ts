import type { ClientTls } from '@oncehook/kernel/http/tls-sources'
import type { CallFetch } from '@oncehook/kernel/service-fetch'
import { Agent, fetch, type RequestInit } from 'undici'

/**
 * Creates a fetch that trusts the authorities and shows the certificate which `current` answers. Once that changes, new
 * calls go over new connections; calls under way end on the old ones.
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
    // Types alone differ: undici's own fetch reads the same members, and its answers have them.
    const answer = await fetch(address, { ...(init as unknown as RequestInit), dispatcher: agent })
    return answer as unknown as Response
  }
}

function createAgent(tls: ClientTls | null): Agent {
  const { ca, pair } = tls ?? { ca: undefined, pair: null }
  // Like Node's own fetch otherwise: HTTP/1.1.
  return new Agent({ allowH2: false, connect: { ...(ca === undefined ? {} : { ca }), ...pair } })
}
