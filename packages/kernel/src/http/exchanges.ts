import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

/** A request and its answer; `ended` resolves when the answer is out or the connection is gone. */
interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly ended: Promise<void>
}

/** What is under way on each connection. */
export interface Exchanges {
  /**
   * Runs a handler as soon as all earlier requests of its connection are answered, never when the connection is gone:
   * Node hands over pipelined requests all at once, but only safe ones may be done side by side (RFC 9112 section 9.3.2).
   */
  inOrder(request: IncomingMessage, response: ServerResponse, handle: () => void): void
  /**
   * Takes no more from a connection that has brought something broken: waits until every request that came whole is
   * answered, and returns the answer, begun or not, to one that did not; null where there is none. A second call gives
   * undefined.
   */
  breakOff(socket: Duplex): Promise<ServerResponse | null | undefined>
}

/** Creates the record of what is under way. */
export function createExchanges(): Exchanges {
  const open = new WeakMap<Duplex, Exchange[]>()
  const latest = new WeakMap<Duplex, Exchange>()
  const broken = new WeakSet<Duplex>()
  return {
    inOrder(request, response, handle) {
      const { socket } = request
      const exchanges = open.get(socket) ?? []
      open.set(socket, exchanges)
      const earlier = exchanges.at(-1)
      const { promise: ended, resolve } = Promise.withResolvers<void>()
      const exchange = { request, response, ended }
      exchanges.push(exchange)
      latest.set(socket, exchange)
      response.once('close', () => {
        exchanges.splice(exchanges.indexOf(exchange), 1)
        resolve()
      })
      if (earlier === undefined) return handle()
      void earlier.ended.then(() => {
        if (!socket.destroyed && (request.complete || !broken.has(socket))) handle()
      })
    },
    async breakOff(socket) {
      if (broken.has(socket)) return undefined
      broken.add(socket)
      const last = latest.get(socket)
      const unfinished = last?.request.complete === false ? last : null
      const whole = (open.get(socket) ?? []).filter((exchange) => exchange !== unfinished)
      await Promise.all(whole.map(({ ended }) => ended))
      return unfinished?.response ?? null
    },
  }
}
