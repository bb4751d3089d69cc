import type { RequestListener, Server, ServerOptions } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { SettingsError } from '../settings.ts'
import { boundConnections } from './bound-connections.ts'
import { nodeHttp } from './node-http.ts'
import { watchRequestStarts } from './request-start.ts'
import { retireConnections } from './retire-connections.ts'
import type { ServerTls } from './tls-sources.ts'

/** Where and how a listener takes requests. Times are milliseconds. */
export interface ListenOptions {
  readonly handler: RequestListener
  readonly host: string
  readonly port: number
  readonly headersTimeoutMs?: number
  readonly requestTimeoutMs?: number
  /** Beyond so many, one without a whole request under way gives way to a new one. Default: 1,000. */
  readonly maxConnections?: number
  /** After so long without an octet in either direction a connection is closed. Default: 30 s. */
  readonly stalledMs?: number
  /** Bytes of the request line and the header section together. Default: 16 KiB. */
  readonly maxHeaderBytes?: number
  /**
   * Makes it a listener for https. With `clientCa` it asks for a client certificate and takes connections without one: the
   * handler decides (`hasTrustedCertificate`). Default: plain http.
   */
  readonly tls?: ServerTls | null
  /** Adds listeners for what Node answers by itself (`clientError`, `connect`, `checkContinue`). */
  readonly prepare?: (server: Server) => void
}

/** A listener that takes requests. */
export interface Listener {
  readonly port: number
  /** Gives new connections another certificate and other authorities; those that are open end with their next answer. */
  renewTls(tls: ServerTls): void
  /** Takes no more connections, lets requests in flight end for `graceMs`, then closes what is left. */
  close(graceMs: number): Promise<void>
}

const MAX_HEADER_BYTES = 16_384
const IDLE_CHECK_MS = 50
const TLS_LIMITS = { minVersion: 'TLSv1.2', handshakeTimeout: 5_000 } as const

/**
 * Opens an HTTP/1.1 listener with bounds on headers, time and connections.
 * @throws SettingsError when the address cannot be had
 */
export async function listen(options: ListenOptions): Promise<Listener> {
  const { headersTimeoutMs = 5_000, requestTimeoutMs = 10_000, maxConnections = 1_000, tls = null } = options
  const limits: ServerOptions = {
    maxHeaderSize: options.maxHeaderBytes ?? MAX_HEADER_BYTES,
    // Node refuses to start with more time for the headers than for the whole request.
    headersTimeout: requestTimeoutMs > 0 ? Math.min(headersTimeoutMs, requestTimeoutMs) : headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
    connectionsCheckingInterval: 1_000,
    // Longer than the idle time of the usual balancers (60 s), or they meet sockets that we have just closed.
    keepAliveTimeout: 65_000,
    noDelay: true,
    // Node's own refusal has no body; the guard refuses it in our form.
    requireHostHeader: false,
  }
  const secure = tls === null ? null : createSecureServer({ ...limits, ...toTlsOptions(tls) }, options.handler)
  const server: Server = secure ?? nodeHttp.createServer(limits, options.handler)
  // Handshakes count there and not yet among the connections below.
  if (secure !== null) secure.maxConnections = 2 * maxConnections
  // A sender that ends its side after a whole request (`nc -N`) still gets the answer.
  Object.assign(server, { httpAllowHalfOpen: true })
  // Node waits for ever for a sender that does not read its answer.
  server.setTimeout(options.stalledMs ?? 30_000)
  options.prepare?.(server)
  const sockets = boundConnections(server, maxConnections, secure === null ? 'connection' : 'secureConnection')
  const all = secure === null ? sockets : openSockets(secure)
  watchRequestStarts({ server, open: sockets, headersTimeoutMs })
  const retire = retireConnections(server, sockets)
  await bind(server, options)
  return {
    port: (server.address() as AddressInfo).port,
    renewTls(renewed) {
      secure?.setSecureContext(toTlsOptions(renewed))
      retire()
    },
    close: (graceMs) => close({ server, sockets, all, graceMs }),
  }
}

function toTlsOptions({ cert, key, clientCa }: ServerTls) {
  // Probes have no certificate: a connection without one is not refused here, its calls are.
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

/** The connections of a server, below TLS. */
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
  /** Also those that have not ended their handshake. */
  readonly all: ReadonlySet<Socket>
  readonly graceMs: number
}

function close({ server, sockets, all, graceMs }: Closing): Promise<void> {
  const closeIdle = (): void => {
    server.closeIdleConnections()
    // To Node a connection that was opened ahead of its first request is busy until its headers are late.
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
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
