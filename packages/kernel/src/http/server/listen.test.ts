import { once } from 'node:events'
import { Agent, get, type IncomingMessage, type RequestListener, request, type Server } from 'node:http'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import { generate } from 'selfsigned'
import { describe, expect, it } from 'vitest'
import { SettingsError } from '../../settings/settings.ts'
import { type Listener, type ListenOptions, listen } from './listen.ts'

const HOST = '127.0.0.1'
const answerOk: RequestListener = (_request, response) => void response.end('ok')

/** A listener on a free port, closed at the end of the scope. */
async function opened(options: Partial<ListenOptions> = {}): Promise<Listener & AsyncDisposable> {
  const listener = await listen({ handler: answerOk, host: HOST, port: 0, ...options })
  return { ...listener, [Symbol.asyncDispose]: () => listener.close(0) }
}

async function answerOf(port: number, agent: Agent, path = '/'): Promise<{ status: number | undefined; body: string }> {
  const [response] = (await once(get({ host: HOST, port, agent, path }), 'response')) as [IncomingMessage]
  return { status: response.statusCode, body: await text(response) }
}

async function rawSocket(port: number): Promise<Socket> {
  const socket = connect(port, HOST)
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

/** A grace that no test waits for. */
const HOUR_MS = 3_600_000

/** A handler that responds when the test lets it, and reports each incoming request. */
function heldHandler() {
  const arrived = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const handler: RequestListener = (_request, response) => {
    arrived.resolve()
    void released.promise.then(() => response.end('held'))
  }
  return { handler, arrived: arrived.promise, release: released.resolve }
}

describe('listen', () => {
  it('answers a sender that has ended its own side', async () => {
    const handler: RequestListener = async ({ socket }, response) => {
      if (!socket.readableEnded) await once(socket, 'end')
      response.end('late')
    }
    await using listener = await opened({ handler })
    const socket = await rawSocket(listener.port)
    socket.end('GET / HTTP/1.1\r\nHost: here\r\n\r\n')
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 200 .*late/s)
  })

  it('refuses a port that is taken, naming the address', async () => {
    await using listener = await opened()
    const thrown: unknown = await opened({ port: listener.port }).catch((error: unknown) => error)
    expect(thrown).toBeInstanceOf(SettingsError)
    expect((thrown as SettingsError).problems).toEqual([
      `Address 127.0.0.1:${listener.port} is taken by another process`,
    ])
  })

  it('closes the connection that has been idle longest in favour of one beyond the limit', async () => {
    await using listener = await opened({ maxConnections: 2 })
    const [first, second] = [await rawSocket(listener.port), await rawSocket(listener.port)]
    first.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await once(first, 'data')
    await using third = await rawSocket(listener.port)
    await once(second, 'close')
    third.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await once(third, 'data')
    expect(first.destroyed).toBe(false)
    first.destroy()
  })

  it('closes a connection whose request is incomplete, but none that waits for its answer', async () => {
    const held = heldHandler()
    const begun: unknown[] = []
    const prepare = (server: Server) => server.on('request', (request) => begun.push(request))
    await using listener = await opened({ maxConnections: 2, handler: held.handler, prepare })
    await using whole = await rawSocket(listener.port)
    whole.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await held.arrived
    const slow = await rawSocket(listener.port)
    slow.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx')
    await expect.poll(() => begun.length).toBe(2)
    await using next = await rawSocket(listener.port)
    next.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await once(slow, 'close')
    const beyond = await rawSocket(listener.port)
    await once(beyond, 'close')
    held.release()
    expect(String((await once(whole, 'data'))[0])).toContain('held')
    expect(String((await once(next, 'data'))[0])).toContain('held')
  })

  it('closes a connection with several requests if all are busy', async () => {
    const begun: unknown[] = []
    const handler: RequestListener = ({ url }, response) => {
      if (url === '/livez') response.end('ok')
      else begun.push(url)
    }
    await using listener = await opened({ maxConnections: 2, handler })
    const busy = [await rawSocket(listener.port), await rawSocket(listener.port)]
    for (const socket of busy) socket.write('GET /slow HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(2))
    await expect.poll(() => begun.length).toBe(4)
    expect(await answerOf(listener.port, new Agent(), '/livez')).toEqual({ status: 200, body: 'ok' })
    for (const socket of busy) socket.destroy()
  })

  it('closes a connection whose answer waits for its reader, however many requests follow', async () => {
    const ended: unknown[] = []
    const handler: RequestListener = (request, response) => {
      response.end(request.url === '/large' ? 'x'.repeat(32 * 1024 * 1024) : 'small')
      ended.push(request.url)
    }
    await using listener = await opened({ maxConnections: 1, handler })
    const reader = await rawSocket(listener.port)
    reader.pause()
    reader.write('GET /large HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(2))
    await expect.poll(() => ended).toContain('/large')
    expect(await answerOf(listener.port, new Agent())).toEqual({ status: 200, body: 'small' })
    reader.destroy()
  })
})

describe('a reader that leaves its answers unread', () => {
  it('is closed after a while, whatever it sends meanwhile', async () => {
    const handler: RequestListener = (_request, response) => void response.end('x'.repeat(32 * 1024 * 1024))
    await using listener = await opened({
      handler,
      stalledMs: 200,
      headersTimeoutMs: HOUR_MS,
      requestTimeoutMs: HOUR_MS,
    })
    const reader = await rawSocket(listener.port)
    reader.pause()
    reader.write('GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nX-Slow: ')
    const timer = setInterval(() => reader.write('x'), 20)
    // It may be reset.
    await new Promise((resolve) => reader.once('close', resolve))
    clearInterval(timer)
  })
})

describe('listen with a certificate of RSA', async () => {
  const { cert, private: key } = await generate([{ name: 'commonName', value: HOST }], {
    keyType: 'rsa',
    keySize: 2_048,
  })

  /** The suite of a connection by a client that offers no others; null if the listener refuses it. */
  async function suiteOf(client: ConnectionOptions): Promise<string | null> {
    await using listener = await opened({ tls: { cert, key } })
    const socket = connectTls({
      host: HOST,
      port: listener.port,
      ca: cert,
      checkServerIdentity: () => undefined,
      ...client,
    })
    try {
      await once(socket, 'secureConnect')
      return socket.getCipher().name
    } catch {
      return null
    } finally {
      socket.destroy()
    }
  }

  it.each(['ECDHE-RSA-AES128-GCM-SHA256', 'ECDHE-RSA-AES256-GCM-SHA384', 'ECDHE-RSA-CHACHA20-POLY1305'])(
    'takes %s, which has forward secrecy',
    async (ciphers) => {
      expect(await suiteOf({ ciphers, maxVersion: 'TLSv1.2' })).toBe(ciphers)
    },
  )

  it.each(['AES128-SHA', 'AES256-SHA', 'AES128-GCM-SHA256', 'AES256-SHA256', 'ECDHE-RSA-AES128-SHA'])(
    'refuses %s',
    async (ciphers) => {
      expect(await suiteOf({ ciphers, maxVersion: 'TLSv1.2' })).toBe(null)
    },
  )

  it('closes the connection that has waited longest for its handshake in favour of another', async () => {
    await using listener = await opened({ tls: { cert, key }, maxConnections: 2 })
    const silent = [1, 2, 3, 4].map(() => rawSocket(listener.port))
    const [first] = await Promise.all(silent)
    const socket = connectTls({ host: HOST, port: listener.port, ca: cert, checkServerIdentity: () => undefined })
    await once(socket, 'secureConnect')
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    expect(String((await once(socket, 'data'))[0])).toContain('200 OK')
    if (first?.destroyed === false) await once(first, 'close')
    socket.destroy()
  })

  it('prefers TLS 1.3', async () => {
    expect(await suiteOf({})).toMatch(/^TLS_/)
  })
})

describe('close', () => {
  it('completes a request in flight, then frees the port at once', async () => {
    const held = heldHandler()
    const listener = await opened({ handler: held.handler })
    using agent = keepAliveAgent()
    const answer = answerOf(listener.port, agent)
    await held.arrived
    const closed = listener.close(HOUR_MS)
    await expect(rawSocket(listener.port)).rejects.toThrow('ECONNREFUSED')
    held.release()
    expect(await answer).toEqual({ status: 200, body: 'held' })
    await closed
    await expect(rawSocket(listener.port)).rejects.toThrow('ECONNREFUSED')
  })

  it('ends kept-alive connections that are idle, without waiting for the grace', async () => {
    const listener = await opened()
    using agent = keepAliveAgent()
    await answerOf(listener.port, agent)
    expect(Object.keys(agent.freeSockets)).toHaveLength(1)
    await listener.close(HOUR_MS)
  })

  it('ends connections on which nothing was ever sent, without waiting for the grace', async () => {
    const accepted = Promise.withResolvers<Socket>()
    const listener = await opened({ prepare: (server) => server.once('connection', accepted.resolve) })
    await using _silent = await rawSocket(listener.port)
    await accepted.promise
    await listener.close(HOUR_MS)
  })

  it('completes a request whose first bytes arrived before', async () => {
    const accepted: Socket[] = []
    const listener = await opened({ prepare: (server) => server.on('connection', (one) => accepted.push(one)) })
    const socket = await rawSocket(listener.port)
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n')
    await expect.poll(() => accepted[0]?.bytesRead).toBeGreaterThan(0)
    const closed = listener.close(10_000)
    // Nothing shows that the listener waits for the rest.
    await sleep(150)
    socket.write('\r\n')
    const [answer] = (await once(socket, 'data')) as [Buffer]
    expect(String(answer)).toMatch(/^HTTP\/1\.1 200 OK/)
    expect(String(answer)).toMatch(/\r\nConnection: close\r\n/)
    await closed
  })

  it('aborts requests that are still in flight after the grace period', async () => {
    const held = heldHandler()
    const listener = await opened({ handler: held.handler })
    using agent = keepAliveAgent()
    const call = request({ host: HOST, port: listener.port, agent }).end()
    const broken = once(call, 'response').catch((error: NodeJS.ErrnoException) => error.code)
    await held.arrived
    const startedAt = performance.now()
    await listener.close(100)
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(90)
    expect(await broken).toBe('ECONNRESET')
  })
})

/** An agent that keeps its connections until the end of the scope. */
function keepAliveAgent(): Agent & Disposable {
  const agent = new Agent({ keepAlive: true })
  return Object.assign(agent, { [Symbol.dispose]: () => agent.destroy() })
}
