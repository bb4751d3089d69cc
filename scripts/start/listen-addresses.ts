import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../ports/port.ts'
import { stablePort } from '../ports/stable-port.ts'
import { type Say, withProgress } from '../progress.ts'

/** The address of one listener of the system. */
export interface ListenAddress {
  readonly host: string
  readonly port: number
  /** Its URL on this machine. */
  readonly url: string
}

/** Every listener of the system. */
export interface ListenAddresses {
  readonly gateway: ListenAddress
  readonly admin: ListenAddress
  readonly fulfilment: ListenAddress
}

/** What the choice of ports depends on. */
export interface PortRequest {
  readonly env: NodeJS.ProcessEnv
  readonly say: Say
  /** The last start was killed. Its services may still be stopping, so it is worth waiting for a port. */
  readonly afterKill: boolean
}

const AFTER_KILL_MS = 12_000

/** Chooses where the services will listen. Throws a message for the user if a port is invalid or taken. */
export async function chooseAddresses(request: PortRequest): Promise<ListenAddresses> {
  const gateway = await choose('GATEWAY', 8080, request)
  const admin = await choose('ADMIN', 8081, request)
  const fulfilment = await choose('FULFILMENT', 8090, request)
  const ports = portsOf({ gateway, admin, fulfilment })
  for (const [name, port] of ports) {
    const twin = ports.find(([other, another]) => other !== name && another === port)
    if (twin) throw new Error(`${name} and ${twin[0]} are both ${port}: give each its own port`)
  }
  return { gateway, admin, fulfilment }
}

/** The port of our own MongoDB. Null: any that is free, or the user has one. Throws a message for the user as above. */
export async function chooseMongoPort(request: PortRequest, services: ListenAddresses): Promise<number | null> {
  const name = 'MONGODB_PORT'
  const { MONGODB_URI, MONGODB_URI_FILE, [name]: wanted } = request.env
  if (MONGODB_URI || MONGODB_URI_FILE || Number(wanted || 0) === 0) return null
  const port = await choosePort(name, request)
  const twin = portsOf(services).find(([, other]) => other === port)
  if (twin) throw new Error(`${twin[0]} and ${name} are both ${port}: give each its own port`)
  return port
}

function portsOf({ gateway, admin, fulfilment }: ListenAddresses): [name: string, port: number][] {
  return Object.entries({ GATEWAY_PORT: gateway.port, ADMIN_PORT: admin.port, FULFILMENT_PORT: fulfilment.port })
}

async function choose(service: string, fallback: number, request: PortRequest): Promise<ListenAddress> {
  const host = request.env[`${service}_HOST`] || '127.0.0.1'
  const port = await choosePort(`${service}_PORT`, request, { fallback, host })
  const tls = `${service}_TLS_CERT`
  const protocol = request.env[tls] || request.env[`${tls}_FILE`] ? 'https' : 'http'
  return { host, port, url: `${protocol}://${reachable(host)}:${port}` }
}

async function choosePort(
  name: string,
  { env, say, afterKill }: PortRequest,
  { fallback, host } = { fallback: 0, host: '127.0.0.1' },
): Promise<number> {
  const wanted = Number(env[name] || fallback)
  if (!Number.isInteger(wanted) || wanted < 0 || wanted > 65_535) throw new Error(`${name} is not a port number`)
  if (wanted === 0) return await stablePort()
  const waiting = claim(wanted, host, afterKill ? AFTER_KILL_MS : 0)
  const what = `Waiting for port ${wanted} (${name}): the last start was killed, and its services are still stopping`
  const port = await withProgress(say, what, waiting)
  if (port !== undefined) return port
  const advice = `stop it, or choose another port: ${name}=${wanted + 1000} npm start`
  throw new Error(`Port ${wanted} (${name}) on ${host} is used by another program: ${advice}`)
}

async function claim(port: number, host: string, forMs: number): Promise<number | undefined> {
  const end = performance.now() + forMs
  let free = await freePort(port, host)
  while (free === undefined && performance.now() < end) {
    await sleep(100)
    free = await freePort(port, host)
  }
  return free
}

function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}
