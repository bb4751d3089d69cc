import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** State of a connection. */
interface Watched {
  /** Bytes that belong to accepted requests. */
  seen: number
  /** When the first bytes of the next request were noticed. */
  beganAt: number | null
  /** The latest request, as long as incoming bytes may belong to it. */
  latest: Taken | null
}

interface Taken {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** The open connections of a server and its header timeout in milliseconds. */
export interface WatchedServer {
  readonly server: Server
  readonly open: ReadonlySet<Socket>
  readonly headersTimeoutMs: number
}

const LOOK_MS = 200
// How late the server may enforce the header timeout.
const LATE_MS = 1_500
const starts = new WeakMap<IncomingMessage, number>()

/**
 * When the first byte of a request arrived, by `performance.now()`. Returns the current time if the headers arrived
 * at once or the server is not watched, so call it when the request is accepted. Never late, and at most 0.2 s early.
 */
export function startOf(request: IncomingMessage): number {
  return starts.get(request) ?? performance.now()
}

/**
 * Watches a server for requests whose headers arrive slowly or that wait for an earlier request of the connection.
 * Node reports a request only after its headers, so the open connections are polled. Other requests cost nothing.
 */
export function watchRequestStarts({ server, open, headersTimeoutMs }: WatchedServer): void {
  const watched = new WeakMap<Socket, Watched>()
  let lookedAt = performance.now()
  const look = (): void => {
    for (const socket of open) {
      const state = watched.get(socket)
      if (state === undefined) watched.set(socket, { seen: 0, beganAt: beganOf(socket, 0, lookedAt), latest: null })
      else lookAt(state, socket, lookedAt)
    }
    lookedAt = performance.now()
  }
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request
    const state = watched.get(socket)
    const taken = { request, response }
    if (state === undefined) watched.set(socket, { seen: socket.bytesRead, beganAt: null, latest: taken })
    else take(state, taken, performance.now() - headersTimeoutMs - LATE_MS)
  })
  const timer = setInterval(look, LOOK_MS).unref()
  server.once('close', () => clearInterval(timer))
}

/** A request with complete headers. No request starts before `earliest`, so earlier bytes were an empty line. */
function take(state: Watched, taken: Taken, earliest: number): void {
  if (state.beganAt !== null && state.beganAt >= earliest) starts.set(taken.request, state.beganAt)
  // A pipelined request waits for the one before it.
  else if (state.latest !== null && !isOver(state.latest)) starts.set(taken.request, performance.now())
  state.beganAt = null
  state.latest = taken
}

function lookAt(state: Watched, socket: Socket, lookedAt: number): void {
  if (state.latest === null) {
    state.beganAt ??= beganOf(socket, state.seen, lookedAt)
    return
  }
  // The bytes so far may belong to the body of the request.
  state.seen = socket.bytesRead
  if (isOver(state.latest)) state.latest = null
}

function beganOf(socket: Socket, seen: number, lookedAt: number): number | null {
  return socket.bytesRead > seen ? lookedAt : null
}

/** The rest of a body may arrive after its response. */
function isOver({ request, response }: Taken): boolean {
  return request.complete && (response.writableFinished || response.destroyed)
}
