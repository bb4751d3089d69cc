import { createServer as createHttpServer, type IncomingMessage } from 'node:http'
import { connect, createServer, type Socket } from 'node:net'
import { json } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'

// A program: a TCP proxy whose faults are set over HTTP, with the part of toxiproxy's API that these tests use. It is used
// in when no image of toxiproxy is available, alone in a container that has nothing but Node.js.

type Direction = 'upstream' | 'downstream'

interface Toxic {
  readonly name: string
  readonly type: 'latency' | 'bandwidth' | 'timeout' | 'reset_peer'
  readonly stream: Direction
  readonly attributes: { readonly latency?: number; readonly rate?: number }
}

interface Line {
  readonly name: string
  readonly listen: string
  readonly upstream: string
}

const CONTROL_PORT = 8_474

class ToxicLine {
  readonly line: Line
  readonly #toxics = new Map<string, Toxic>()
  readonly #clients = new Set<Socket>()

  constructor(line: Line) {
    this.line = line
  }

  async listen(): Promise<void> {
    const server = createServer((client) => this.#join(client))
    await new Promise<void>((resolve) => server.listen(portOf(this.line.listen), '0.0.0.0', resolve))
  }

  add(toxic: Toxic): void {
    this.#toxics.set(toxic.name, toxic)
    if (toxic.type === 'reset_peer') for (const client of this.#clients) client.resetAndDestroy()
  }

  /** Data that a `timeout` has swallowed is lost, so its connections are no longer usable. */
  remove(name: string): void {
    const isLossy = this.#toxics.get(name)?.type === 'timeout'
    this.#toxics.delete(name)
    if (isLossy) for (const client of this.#clients) client.destroy()
  }

  #join(client: Socket): void {
    const [host = ''] = this.line.upstream.split(':')
    const upstream = connect(portOf(this.line.upstream), host)
    this.#clients.add(client)
    for (const socket of [client, upstream]) socket.on('error', () => undefined)
    const forth = this.#forward(client, { to: upstream, direction: 'upstream' })
    const back = this.#forward(upstream, { to: client, direction: 'downstream' })
    client.on('close', () => {
      this.#clients.delete(client)
      void forth().then(() => upstream.destroy())
    })
    upstream.on('close', () => void back().then(() => client.destroy()))
  }

  /** Forwards chunks in their order. Returns a function that waits until all are forwarded. */
  #forward(from: Socket, way: { readonly to: Socket; readonly direction: Direction }): () => Promise<void> {
    let earlier = Promise.resolve()
    from.on('data', (chunk) => {
      const arrivedAt = performance.now()
      earlier = earlier.then(async () => {
        if (await this.#passes(way.direction, { bytes: chunk.length, arrivedAt })) way.to.write(chunk)
        else if (this.#has('reset_peer', way.direction)) from.resetAndDestroy()
      })
    })
    return () => earlier
  }

  async #passes(direction: Direction, chunk: { readonly bytes: number; readonly arrivedAt: number }): Promise<boolean> {
    if (this.#has('timeout', direction) || this.#has('reset_peer', direction)) return false
    for (const { type, stream, attributes } of this.#toxics.values()) {
      if (stream !== direction) continue
      const { latency = 0, rate = 1 } = attributes
      // A rate is in KB a second, which is bytes a millisecond.
      const waitMs = type === 'latency' ? chunk.arrivedAt + latency - performance.now() : chunk.bytes / rate
      if (waitMs > 0) await sleep(waitMs)
    }
    return true
  }

  #has(type: Toxic['type'], direction: Direction): boolean {
    return [...this.#toxics.values()].some((toxic) => toxic.type === type && toxic.stream === direction)
  }
}

function portOf(address: string): number {
  return Number(address.slice(address.lastIndexOf(':') + 1))
}

const lines = new Map<string, ToxicLine>()

/** Handles a request of the control interface and returns the answer, if there is one. */
async function control({ method, url = '' }: IncomingMessage, body: unknown): Promise<unknown> {
  if (url === '/version') return 'own'
  const [, , name = '', , toxic = ''] = url.split('/')
  if (method === 'DELETE') return lines.get(name)?.remove(toxic)
  if (name !== '') {
    lines.get(name)?.add(body as Toxic)
    return body
  }
  const line = new ToxicLine(body as Line)
  await line.listen()
  lines.set(line.line.name, line)
  return { ...line.line, enabled: true, toxics: [] }
}

createHttpServer(async (request, response) => {
  const body = request.method === 'POST' ? await json(request) : undefined
  const answer = await control(request, body)
  if (answer === undefined) response.writeHead(204).end()
  else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
}).listen(CONTROL_PORT, '0.0.0.0', () => process.stdout.write('Starting HTTP server\n'))
