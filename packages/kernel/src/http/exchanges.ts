import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

/** A request and its answer. */
interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** What is under way on one connection, and what began last there. */
interface Conversation {
  readonly open: Exchange[]
  latest: Exchange | null
}

/** What is under way on each connection. */
export interface Exchanges {
  /**
   * Runs a handler as soon as all earlier requests of its connection are answered, never when the connection is gone:
   * Node hands over pipelined requests all at once, but only safe ones may be done side by side (RFC 9112 section 9.3.2).
   * A connection with too many of them is closed at once, for Node would keep each in memory; its sender may repeat those
   * that have no answer.
   */
  inOrder(request: IncomingMessage, response: ServerResponse, handle: () => void): void
  /**
   * Takes no more from a connection that has brought something broken: waits until every request that came whole is
   * answered, and returns the answer, begun or not, to one that did not; null where there is none. A second call gives
   * undefined.
   */
  breakOff(socket: Duplex): Promise<ServerResponse | null | undefined>
}

/** Requests of one connection that have no answer yet. */
const MOST_OPEN = 32

/** Creates the record of what is under way; `onTooMany` is told of each request that closes its connection. */
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
      // Node goes on with what it has read, also of a connection that is closed.
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

/** Resolves when the answer of an exchange that is open is out, or the connection is gone. */
function ended({ response }: Exchange): Promise<void> {
  return new Promise((resolve) => response.once('close', resolve))
}
