import { connect, createServer, type Socket } from 'node:net'

/** Where a fault strikes: at the nth request that carries a text, before it gets there or after its effect. */
export interface Fault {
  /** What makes the request known: any text in its octets. */
  readonly marker: string
  /** Default: the first. */
  readonly nth?: number
  /** `request`: it never gets there. `reply`: it takes effect, and nobody hears of it. */
  readonly swallows: 'request' | 'reply'
}

/** A TCP proxy between two parts that loses what it is told to lose, and stands still at that place. */
export interface FaultProxy extends AsyncDisposable {
  readonly port: number
  /** Where connections lead to from now on. */
  leadTo(port: number): void
  /** Sets the next fault; resolves when it has struck: the request or the first octets of its reply have been lost. */
  strike(fault: Fault): Promise<void>
}

interface ArmedFault extends Fault {
  seen: number
  struckBy: Socket | null
  readonly struck: PromiseWithResolvers<void>
}

/** Starts a proxy that loses nothing yet. */
export async function startFaultProxy(): Promise<FaultProxy> {
  let target = 0
  let armed: ArmedFault | null = null
  const sockets = new Set<Socket>()

  /** Whether a chunk goes through. */
  const passes = (client: Socket, direction: Fault['swallows'], chunk: Buffer): boolean => {
    if (armed === null) return true
    if (direction === 'request' && armed.struckBy === null && chunk.includes(armed.marker)) {
      armed.seen += 1
      if (armed.seen === (armed.nth ?? 1)) armed.struckBy = client
    }
    if (armed.struckBy !== client || armed.swallows !== direction) return true
    armed.struck.resolve()
    return false
  }

  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1')
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => sockets.delete(socket))
    }
    client.on('data', (chunk) => void (passes(client, 'request', chunk) && upstream.write(chunk)))
    upstream.on('data', (chunk) => void (passes(client, 'reply', chunk) && client.write(chunk)))
    client.on('close', () => upstream.destroy())
    upstream.on('close', () => client.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    leadTo: (port) => {
      target = port
    },
    strike: (fault) => {
      armed = { ...fault, seen: 0, struckBy: null, struck: Promise.withResolvers<void>() }
      return armed.struck.promise
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
