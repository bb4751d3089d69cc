import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

/** A request and its response. */
interface PendingRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** The open requests of a connection, and its latest request. */
interface ConnectionState {
  readonly open: PendingRequest[]
  latest: PendingRequest | null
}

/** The open requests of all connections. */
export interface RequestPipeline {
  /**
   * Runs a handler when all earlier requests of its connection are answered, unless the connection is closed. Node
   * passes on pipelined requests at once, but only safe ones may run in parallel (RFC 9112 section 9.3.2). A
   * connection with too many open requests is closed at once, because Node would keep them all in memory. The client
   * may retry unanswered requests.
   */
  serialize(request: IncomingMessage, response: ServerResponse, handle: () => void): void
  /**
   * Accepts nothing more from a connection after invalid input. Waits until every complete request is answered.
   * Resolves to the response of the incomplete request, which may already have started, or to null if there is none.
   * A second call resolves to undefined.
   */
  abort(socket: Duplex): Promise<ServerResponse | null | undefined>
}

/** Maximum number of unanswered requests per connection. */
const MOST_OPEN = 32

/** Creates the tracking of open requests. `onTooMany` is called with each request that closes its connection. */
export function createRequestPipeline(onTooMany: (request: IncomingMessage) => void): RequestPipeline {
  const connections = new WeakMap<Duplex, ConnectionState>()
  const broken = new WeakSet<Duplex>()
  const begin = (socket: Duplex): ConnectionState => {
    const state: ConnectionState = { open: [], latest: null }
    connections.set(socket, state)
    return state
  }
  return {
    serialize(request, response, handle) {
      const { socket } = request
      // Node continues to process input it has already read, even if the connection is closed.
      if (socket.destroyed) return
      const state = connections.get(socket) ?? begin(socket)
      const { open } = state
      if (open.length >= MOST_OPEN) {
        socket.destroy()
        return onTooMany(request)
      }
      const earlier = open.at(-1)
      const pending = { request, response }
      open.push(pending)
      state.latest = pending
      response.once('close', () => open.splice(open.indexOf(pending), 1))
      if (earlier === undefined) return handle()
      void ended(earlier).then(() => {
        if (!socket.destroyed && (request.complete || !broken.has(socket))) handle()
      })
    },
    async abort(socket) {
      if (broken.has(socket)) return undefined
      broken.add(socket)
      const { open, latest } = connections.get(socket) ?? begin(socket)
      const unfinished = latest?.request.complete === false ? latest : null
      await Promise.all(open.filter((pending) => pending !== unfinished).map(ended))
      return unfinished?.response ?? null
    },
  }
}

/** Resolves when an open request is answered or its connection is closed. */
function ended({ response }: PendingRequest): Promise<void> {
  return new Promise((resolve) => response.once('close', resolve))
}
