// A listener with limits. Too many connections close the one that has waited longest; a new certificate retires the connections that
// were made with the former one; closing lets the requests in progress finish, for a limited time.
import { createServer, type RequestListener, type Server, type ServerOptions, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { SettingsError } from '../../settings/settings.ts'
import { connectionOf, noteRequest } from './connections.ts'
import type { ServerTls } from './tls.ts'

/** Address and limits of a listener. Times are milliseconds. */
export interface ListenOptions {
  readonly handler: RequestListener
  readonly host: string
  readonly port: number
  readonly headersTimeoutMs?: number
  readonly requestTimeoutMs?: number
  /**
   * Maximum number of connections. Above it, a connection without a complete request, or with several, makes room for a new one.
   * Default: 1,000.
   */
  readonly maxConnections?: number
  /**
   * Closes a connection after this time without traffic in either direction. An answer that is written may be read for as long,
   * and for twice as long at most. Default: 30 s.
   */
  readonly stalledMs?: number
  /**
   * Serves HTTPS. With `clientCa` it requests a client certificate but accepts connections without one: the handler
   * decides (`hasTrustedCertificate`). Default: plain HTTP.
   */
  readonly tls?: ServerTls | null
  /** Adds listeners for events that Node would otherwise answer itself (`clientError`, `connect`, `checkContinue`). */
  readonly prepare?: (server: Server) => void
}

export interface Listener {
  readonly port: number
  /**
   * Uses another certificate and other authorities for new connections. Open connections close after their next
   * response.
   */
  renewTls(tls: ServerTls): void
  /** Accepts no more connections, gives requests in progress `graceMs` to finish, then closes the remaining connections. */
  close(graceMs: number): Promise<void>
}

// Of the request line and the headers together.
const MAX_HEADER_BYTES = 16_384
const IDLE_CHECK_MS = 50
// TLS 1.3 has forward secrecy always, 1.2 only with these suites (RFC 9325 section 4.2), which begin with an exchange of fresh keys.
const SUITES = [
  ...['TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256', 'TLS_AES_128_GCM_SHA256'],
  ...['ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-ECDSA-AES256-GCM-SHA384', 'ECDHE-ECDSA-CHACHA20-POLY1305'],
  ...['ECDHE-RSA-AES128-GCM-SHA256', 'ECDHE-RSA-AES256-GCM-SHA384', 'ECDHE-RSA-CHACHA20-POLY1305'],
]
const TLS_LIMITS = { minVersion: 'TLSv1.2', handshakeTimeout: 5_000, ciphers: SUITES.join(':') } as const

/**
 * Opens an HTTP/1.1 listener with limits on headers, time and connections.
 * @throws SettingsError if the address cannot be bound
 */
export async function listen(options: ListenOptions): Promise<Listener> {
  const { headersTimeoutMs = 5_000, requestTimeoutMs = 10_000, maxConnections = 1_000, tls = null } = options
  const { stalledMs = 30_000 } = options
  const limits: ServerOptions = {
    maxHeaderSize: MAX_HEADER_BYTES,
    // Node does not start if the header timeout exceeds the request timeout.
    headersTimeout: requestTimeoutMs > 0 ? Math.min(headersTimeoutMs, requestTimeoutMs) : headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
    connectionsCheckingInterval: 1_000,
    // Longer than the idle timeout of common load balancers (60 s). Otherwise they would reuse a connection that we
    // have just closed.
    keepAliveTimeout: 65_000,
    noDelay: true,
    // Node's own refusal has no body. The guard sends the common error body.
    requireHostHeader: false,
  }
  const secure = tls === null ? null : createSecureServer({ ...limits, ...toTlsOptions(tls) }, options.handler)
  const server: Server = secure ?? createServer(limits, options.handler)
  // The limit of connections below does not count those in the TLS handshake.
  if (secure !== null) limitHandshakes(secure, maxConnections)
  // A client that half-closes after a complete request (`nc -N`) still gets the response.
  Object.assign(server, { httpAllowHalfOpen: true })
  // Otherwise Node waits forever for a client that does not read its response.
  server.setTimeout(stalledMs)
  // Before the handler, which may send headers at once.
  server.prependListener('request', noteRequest)
  options.prepare?.(server)
  const event = secure === null ? 'connection' : 'secureConnection'
  const sockets = limitConnections(server, { maxConnections, stalledMs, event })
  const all = secure === null ? sockets : openSockets(secure)
  // None is closed at once, because a request may already be in transit.
  const retire = (): void => {
    for (const socket of sockets) connectionOf(socket).isRetired = true
  }
  await bind(server, options)
  return {
    port: (server.address() as AddressInfo).port,
    renewTls(renewed) {
      secure?.setSecureContext(toTlsOptions(renewed))
      retire()
    },
    close(graceMs) {
      retire()
      return close({ server, sockets, all, graceMs })
    },
  }
}

function toTlsOptions({ cert, key, clientCa }: ServerTls) {
  // Probes have no certificate, so connections without one are accepted. Their calls are refused later.
  const clients = clientCa === undefined ? {} : { ca: clientCa, requestCert: true, rejectUnauthorized: false }
  return { ...TLS_LIMITS, cert, key, ...clients }
}

function bind(server: Server, { host, port }: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    const onError = (cause: NodeJS.ErrnoException): void => {
      const why = cause.code === 'EADDRINUSE' ? 'is taken by another process' : `cannot be opened (${cause.code})`
      reject(new SettingsError([`Address ${host}:${port} ${why}`], { cause }))
    }
    server.once('error', onError)
    server.listen(port, host, () => {
      server.off('error', onError)
      resolve()
    })
  })
}

/** Above the limit, the connection that has been in the TLS handshake longest is closed: nobody locks others out by silence. */
function limitHandshakes(server: Pick<Server, 'on'>, most: number): void {
  const open = new Map<string, Socket>()
  const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`
  server.on('connection', (socket) => {
    const peer = peerOf(socket)
    for (const [first, waiting] of open) {
      if (open.size < most) break
      open.delete(first)
      waiting.destroy()
    }
    open.set(peer, socket)
    socket.once('close', () => {
      if (open.get(peer) === socket) open.delete(peer)
    })
  })
  server.on('secureConnection', (socket: Socket) => open.delete(peerOf(socket)))
}

function openSockets(server: Pick<Server, 'on'>): ReadonlySet<Socket> {
  const open = new Set<Socket>()
  server.on('connection', (socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  return open
}

interface Closing {
  readonly server: Server
  readonly sockets: ReadonlySet<Socket>
  /** Includes connections in the TLS handshake. */
  readonly all: ReadonlySet<Socket>
  readonly graceMs: number
}

function close({ server, sockets, all, graceMs }: Closing): Promise<void> {
  const silent = new Set<Socket>()
  const closeIdle = (): void => {
    server.closeIdleConnections()
    // Node treats a connection opened ahead of its first request as busy until the header timeout. Bytes that have arrived
    // are read between two checks.
    for (const socket of sockets) {
      if (socket.bytesRead === 0 && silent.has(socket)) socket.destroy()
      else silent.add(socket)
    }
  }
  return new Promise((resolve) => {
    const idle = setInterval(closeIdle, IDLE_CHECK_MS)
    const late = setTimeout(() => {
      server.closeAllConnections()
      for (const socket of all) socket.destroy()
    }, graceMs)
    server.close(() => {
      clearInterval(idle)
      clearTimeout(late)
      resolve()
    })
  })
}

interface ConnectionLimits extends Required<Pick<ListenOptions, 'maxConnections' | 'stalledMs'>> {
  readonly event: 'connection' | 'secureConnection'
}

/**
 * Limits the number of open connections of a server and returns the open ones. Above the limit, the connection that
 * has been idle longest is closed, unless it has a complete request in progress. If there is none, one whose answer is
 * written, and waits only for its reader, is closed, then one with several requests: our clients wait for an answer before they ask
 * again. So nobody can lock others out by holding connections, by reading slowly, or by sending ahead. If all connections are busy with
 * one request, the new one is closed. Whoever reads too slowly is closed in any case: an answer in memory waits for its reader.
 */
function limitConnections(server: Server, { maxConnections, stalledMs, event }: ConnectionLimits): ReadonlySet<Socket> {
  // Ordered by last response, or by start.
  const open = new Set<Socket>()
  const unansweredOf = (socket: Socket): readonly ServerResponse[] => connectionOf(socket).unanswered
  const isIdle = (socket: Socket): boolean => unansweredOf(socket).at(-1)?.req.complete !== true
  const isUnread = (socket: Socket): boolean => unansweredOf(socket)[0]?.writableEnded === true
  const isAhead = (socket: Socket): boolean => unansweredOf(socket).length > 1

  server.on(event, (socket: Socket) => {
    if (open.size >= maxConnections) {
      const yielding = firstOf(open, isIdle) ?? firstOf(open, isUnread) ?? firstOf(open, isAhead) ?? socket
      open.delete(yielding)
      yielding.destroy()
      if (yielding === socket) return
    }
    open.add(socket)
    connectionOf(socket).onIdle = () => {
      if (open.delete(socket)) open.add(socket)
    }
    socket.once('close', () => open.delete(socket))
  })
  const late = new WeakSet<ServerResponse>()
  const closeLate = (): void => {
    for (const socket of open) {
      const [answer] = unansweredOf(socket)
      if (answer?.writableEnded !== true) continue
      if (late.has(answer)) socket.destroy()
      late.add(answer)
    }
  }
  const timer = setInterval(closeLate, stalledMs).unref()
  server.once('close', () => clearInterval(timer))
  return open
}

function firstOf<T>(values: Iterable<T>, isWanted: (value: T) => boolean): T | undefined {
  for (const value of values) if (isWanted(value)) return value
  return undefined
}
