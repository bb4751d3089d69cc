import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** What is known of a connection. */
interface Watched {
  /** The octets that belong to requests which were taken. */
  seen: number
  /** When octets of the next request were first there. */
  beganAt: number | null
  /** What was taken last, as long as octets that come may belong to it. */
  latest: Taken | null
}

interface Taken {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** The open connections of a server, and how long a head may take there in milliseconds. */
export interface WatchedServer {
  readonly server: Server
  readonly open: ReadonlySet<Socket>
  readonly headersTimeoutMs: number
}

const LOOK_MS = 200
// How late the server may notice that a head is too slow.
const LATE_MS = 1_500
const starts = new WeakMap<IncomingMessage, number>()

/**
 * The instant, by `performance.now()`, at which the first octet of a request was there. Where its head came at once, or on
 * a server that is not watched, that is now: ask when the request is taken. Never late, and early by 0.2 s at most.
 */
export function startOf(request: IncomingMessage): number {
  return starts.get(request) ?? performance.now()
}

/**
 * Watches a server for requests whose head comes slowly, or that wait for an earlier one of their connection. Node tells of
 * a request when its head is whole, so the open connections are looked at regularly; nothing is added to other requests.
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

/** A request whose head is whole; none has begun before `earliest`, so what came then was an empty line. */
function take(state: Watched, taken: Taken, earliest: number): void {
  if (state.beganAt !== null && state.beganAt >= earliest) starts.set(taken.request, state.beganAt)
  // One that came behind another waits for it.
  else if (state.latest !== null && !isOver(state.latest)) starts.set(taken.request, performance.now())
  state.beganAt = null
  state.latest = taken
}

function lookAt(state: Watched, socket: Socket, lookedAt: number): void {
  if (state.latest === null) {
    state.beganAt ??= beganOf(socket, state.seen, lookedAt)
    return
  }
  // What has come until now may be the body of the request.
  state.seen = socket.bytesRead
  if (isOver(state.latest)) state.latest = null
}

function beganOf(socket: Socket, seen: number, lookedAt: number): number | null {
  return socket.bytesRead > seen ? lookedAt : null
}

/** The rest of a body may come after its answer. */
function isOver({ request, response }: Taken): boolean {
  return request.complete && (response.writableFinished || response.destroyed)
}
