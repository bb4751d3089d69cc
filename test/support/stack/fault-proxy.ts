import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createHeldReplies, type HeldReply } from './held-replies.ts'

/** Where a fault strikes: at the nth request that contains a text, before the request arrives or after its effect. */
interface Fault {
  /** Identifies the request: any text in its octets. */
  readonly marker: string
  /** Default: the first. */
  readonly nth?: number
  /** `request`: the request never arrives. `reply`: it takes effect, but its reply is lost. */
  readonly swallows: 'request' | 'reply'
}

/** A TCP proxy between two parts that can lose chosen messages and then stop, be slow, or break. */
export interface FaultProxy extends AsyncDisposable {
  readonly port: number
  /** Sets the ports to which connections lead from now on: to each of them in turn. */
  leadTo(...ports: readonly number[]): void
  /** Adds a fault; resolves when it has struck: the request or the first octets of its reply have been lost. */
  strike(fault: Fault): Promise<void>
  /** Keeps the reply to the next request that carries a text, and what follows on its connection, until it is released. */
  holdReply(marker: string): HeldReply
  /** From now on nothing gets through, and connections stay open, as if the server had been stopped. */
  freeze(): void
  /** Delays everything by this number of milliseconds from now on, in both directions. */
  delay(ms: number): void
  /** Resets this percentage of the open connections, at least one if any is open. Returns their number. */
  breakSome(percent: number): number
}

interface ArmedFault extends Fault {
  seen: number
  struckBy: Socket | null
  readonly struck: PromiseWithResolvers<void>
}

/** Starts a proxy that loses nothing yet. */
export async function startFaultProxy(): Promise<FaultProxy> {
  let [targets, turn]: [readonly number[], number] = [[0], 0]
  const armed: ArmedFault[] = []
  const replies = createHeldReplies()
  let [delayMs, isFrozen] = [0, false]
  const sockets = new Set<Socket>()
  const clients = new Set<Socket>()

  /** Forwards chunks in their order, each with the delay that was set when it came. */
  const forwardTo = (socket: Socket): ((chunk: Buffer, gate?: Promise<void>) => void) => {
    let earlier = Promise.resolve()
    return (chunk, gate) => {
      const dueAt = performance.now() + delayMs
      earlier = earlier.then(async () => {
        await gate
        const waitMs = dueAt - performance.now()
        if (waitMs > 0) await sleep(waitMs)
        if (!socket.destroyed) socket.write(chunk)
      })
    }
  }

  /** Whether a chunk goes through. */
  const passes = (client: Socket, direction: Fault['swallows'], chunk: Buffer): boolean =>
    !isFrozen && armed.map((fault) => spares(fault, client, direction, chunk)).every((spared) => spared)

  const server = createServer((client) => {
    const upstream = connect(targets[turn++ % targets.length] ?? 0, '127.0.0.1')
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => sockets.delete(socket))
    }
    clients.add(client)
    const [toUpstream, toClient] = [forwardTo(upstream), forwardTo(client)]
    client.on('data', (chunk) => {
      replies.noteRequest(client, chunk)
      if (passes(client, 'request', chunk)) toUpstream(chunk)
    })
    upstream.on('data', (chunk) => void (passes(client, 'reply', chunk) && toClient(chunk, replies.gateOf(client))))
    client.on('close', () => {
      clients.delete(client)
      upstream.destroy()
    })
    upstream.on('close', () => client.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    leadTo: (...ports) => {
      targets = ports
    },
    strike: (fault) => {
      const struck = Promise.withResolvers<void>()
      armed.push({ ...fault, seen: 0, struckBy: null, struck })
      return struck.promise
    },
    holdReply: replies.hold,
    freeze: () => {
      isFrozen = true
    },
    delay: (ms) => {
      delayMs = ms
    },
    breakSome: (percent) => {
      const broken = [...clients]
        .map((client) => ({ client, rank: Math.random() }))
        .toSorted((a, b) => a.rank - b.rank)
        .slice(0, Math.ceil((clients.size * percent) / 100))
      for (const { client } of broken) client.resetAndDestroy()
      return broken.length
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Whether a fault lets a chunk through. */
function spares(fault: ArmedFault, client: Socket, direction: Fault['swallows'], chunk: Buffer): boolean {
  if (direction === 'request' && fault.struckBy === null && chunk.includes(fault.marker)) {
    fault.seen += 1
    if (fault.seen === (fault.nth ?? 1)) fault.struckBy = client
  }
  if (fault.struckBy !== client || fault.swallows !== direction) return true
  fault.struck.resolve()
  return false
}
