import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** A process whose connections can be cut. If it has a port, it is a node of a set that listens there. */
interface Party {
  readonly pid: number
  readonly port?: number
}

/**
 * A network between the nodes of a set and their clients. Each node is reached through a proxy, which can hold back the
 * data that one process sends to another. Neither side notices: connections stay open, as when packets are lost. It
 * identifies a process by its sockets, so it needs Linux, but no rights beyond those over the processes themselves.
 */
export interface CutLinks extends AsyncDisposable {
  /** The port at which the node that listens on `port` is reached. */
  reachedAt(port: number): Promise<number>
  /** From now on, nothing that the first sends reaches the second. */
  cut(from: Party, to: Party): void
  /** Ends the connections that the first opened to the second, like a firewall that forgets them. New ones may open. */
  disconnect(from: Party, to: Party): void
  /** Lets everything through again. Data that was held back arrives now. */
  heal(): void
  /** The number of connections that were used, or would have been used, while they were cut. */
  readonly held: number
}

interface Link {
  readonly nodePort: number
  readonly inode: string | undefined
  /** Whether a process is at the client's end, as far as it was asked. */
  readonly holders: Map<number, boolean>
  readonly client: Socket
  readonly upstream: Socket
}

/** Starts a network without nodes. */
export function startCutLinks(): CutLinks {
  const servers: Server[] = []
  const links = new Set<Link>()
  const held = new Set<Link>()
  const cuts: { readonly from: Party; readonly to: Party }[] = []

  const isCut = (link: Link, sender: 'client' | 'node'): boolean =>
    cuts.some(({ from, to }) => {
      const [client, node] = sender === 'client' ? [from, to] : [to, from]
      return node.port === link.nodePort && isHeldBy(link, client.pid)
    })

  const apply = (link: Link): void => {
    for (const [socket, sender] of [
      [link.client, 'client'],
      [link.upstream, 'node'],
    ] as const) {
      if (isCut(link, sender)) {
        held.add(link)
        socket.pause()
      } else socket.resume()
    }
  }

  const serve = (nodePort: number) => (client: Socket) => {
    const upstream = connect(nodePort, '127.0.0.1')
    const link = {
      nodePort,
      inode: inodeOf(client.remotePort, client.localPort),
      holders: new Map<number, boolean>(),
      client,
      upstream,
    }
    links.add(link)
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      socket.on('error', () => undefined)
      socket.on('data', (chunk) => void (other.destroyed || other.write(chunk)))
      socket.on('end', () => other.end())
      socket.on('close', () => {
        links.delete(link)
        other.destroy()
      })
    }
    apply(link)
  }

  return {
    async reachedAt(port) {
      const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, serve(port))
      servers.push(server)
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      return (server.address() as AddressInfo).port
    },
    cut(from, to) {
      // Copy their current ids: a process that ends meanwhile takes its sockets with it.
      const copy = ({ pid, port }: Party): Party => (port === undefined ? { pid } : { pid, port })
      cuts.push({ from: copy(from), to: copy(to) })
      for (const link of links) apply(link)
    },
    disconnect({ pid }, { port }) {
      for (const link of links) {
        if (link.nodePort === port && isHeldBy(link, pid)) end(link)
      }
    },
    heal() {
      cuts.length = 0
      for (const link of links) apply(link)
    },
    get held() {
      return held.size
    },
    async [Symbol.asyncDispose]() {
      for (const link of links) end(link)
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
    },
  }
}

function end({ client, upstream }: Link): void {
  client.destroy()
  upstream.destroy()
}

function isHeldBy(link: Link, pid: number): boolean {
  const isHolder = link.holders.get(pid) ?? holdsSocket(pid, link.inode)
  link.holders.set(pid, isHolder)
  return isHolder
}

const LOOPBACK = '0100007F'
const INODE_COLUMN = 9

/** The inode of the socket from one loopback port to another, at the near end. */
function inodeOf(localPort = 0, remotePort = 0): string | undefined {
  const hex = (port: number): string => `${LOOPBACK}:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const rows = readFileSync('/proc/net/tcp', 'latin1')
  const ends = rows.indexOf(` ${hex(localPort)} ${hex(remotePort)} `)
  if (ends === -1) return undefined
  const row = rows.slice(rows.lastIndexOf('\n', ends) + 1, rows.indexOf('\n', ends))
  return row.trim().split(/\s+/)[INODE_COLUMN]
}

function holdsSocket(pid: number, inode: string | undefined): boolean {
  const folder = `/proc/${pid}/fd`
  if (!existsSync(folder)) return false
  return readdirSync(folder).some((fd) => {
    try {
      return readlinkSync(`${folder}/${fd}`) === `socket:[${inode}]`
    } catch {
      return false // closed meanwhile
    }
  })
}
