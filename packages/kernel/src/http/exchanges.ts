import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

/** A request and its response. */
interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** The open requests of a connection, and its latest request. */
interface Conversation {
  readonly open: Exchange[]
  latest: Exchange | null
}

/** The open requests of all connections. */
export interface Exchanges {
  /**
   * Runs a handler when all earlier requests of its connection are answered, unless the connection is closed. Node
   * passes on pipelined requests at once, but only safe ones may run in parallel (RFC 9112 section 9.3.2). A
   * connection with too many open requests is closed at once, because Node would keep them all in memory. The client
   * may retry unanswered requests.
   */
  inOrder(request: IncomingMessage, response: ServerResponse, handle: () => void): void
  /**
   * Accepts nothing more from a connection after invalid input. Waits until every complete request is answered.
   * Resolves to the response of the incomplete request, which may already have started, or to null if there is none.
   * A second call resolves to undefined.
   */
  breakOff(socket: Duplex): Promise<ServerResponse | null | undefined>
}

/** Maximum number of unanswered requests per connection. */
const MOST_OPEN = 32

/** Creates the tracking of open requests. `onTooMany` is called with each request that closes its connection. */
export function createExchanges(onTooMany: (request: IncomingMessage) => void): Exchanges {
  const conversations = new WeakMap<Duplex, Conversation>()
  const broken = new WeakSet<Duplex>()
  const begin = (socket: Duplex): Conversation => {
    const conversation: Conversation = { open: [], latest: null }
    conversations.set(socket, conversation)
    return conversation
  }
  return {
    inOrder(request, response, handle) {
      const { socket } = request
      // Node continues to process input it has already read, even if the connection is closed.
      if (socket.destroyed) return
      const conversation = conversations.get(socket) ?? begin(socket)
      const { open } = conversation
      if (open.length >= MOST_OPEN) {
        socket.destroy()
        return onTooMany(request)
      }
      const earlier = open.at(-1)
      const exchange = { request, response }
      open.push(exchange)
      conversation.latest = exchange
      response.once('close', () => open.splice(open.indexOf(exchange), 1))
      if (earlier === undefined) return handle()
      void ended(earlier).then(() => {
        if (!socket.destroyed && (request.complete || !broken.has(socket))) handle()
      })
    },
    async breakOff(socket) {
      if (broken.has(socket)) return undefined
      broken.add(socket)
      const { open, latest } = conversations.get(socket) ?? begin(socket)
      const unfinished = latest?.request.complete === false ? latest : null
      await Promise.all(open.filter((exchange) => exchange !== unfinished).map(ended))
      return unfinished?.response ?? null
    },
  }
}

/** Resolves when an open request is answered or its connection is closed. */
function ended({ response }: Exchange): Promise<void> {
  return new Promise((resolve) => response.once('close', resolve))
}
