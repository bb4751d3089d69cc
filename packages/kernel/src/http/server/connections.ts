import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

/** A connection, as the limits of the listener and the order of its answers see it. */
interface Connection {
  /** The answers that are not complete, in the order of their requests: Node passes on pipelined requests at once. */
  readonly unanswered: ServerResponse[]
  /** The answer to the newest request, complete or not. */
  latest: ServerResponse | undefined
  /** Called each time when all its requests are answered. */
  onIdle: () => void
  /** Closes after its next answer. */
  isRetired: boolean
  /** Its input cannot be read any more. */
  isBroken: boolean
}

const connections = new WeakMap<Duplex, Connection>()
const nothing = (): void => undefined

export function connectionOf(socket: Duplex): Connection {
  const known = connections.get(socket)
  if (known !== undefined) return known
  const connection = { unanswered: [], latest: undefined, onIdle: nothing, isRetired: false, isBroken: false }
  connections.set(socket, connection)
  return connection
}

/** Notes a request of its connection until it is answered. Call it before anything else looks at the request. */
export function noteRequest({ socket }: IncomingMessage, response: ServerResponse): void {
  const connection = connectionOf(socket)
  const { unanswered } = connection
  if (connection.isRetired) response.shouldKeepAlive = false
  unanswered.push(response)
  connection.latest = response
  response.on('close', () => {
    unanswered.splice(unanswered.indexOf(response), 1)
    if (unanswered.length === 0) connection.onIdle()
  })
}
