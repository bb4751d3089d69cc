import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { badRequest, payloadTooLarge } from '../error-codes.ts'
import type { AppError } from '../errors.ts'
import { listen } from './listen.ts'
import { type BodyWatch, readRawBody } from './raw-body.ts'

interface Reading extends AsyncDisposable {
  /** The result of reading the body of the only request. */
  readonly outcome: Promise<Buffer | AppError>
  readonly request: Promise<IncomingMessage>
  readonly socket: Socket
}

/** A listener that reads the body of one request, and an open connection to it. */
async function reading(
  maxBytes: number,
  before: (request: IncomingMessage) => Promise<unknown> = async () => undefined,
  watch?: BodyWatch,
) {
  const outcome = Promise.withResolvers<Buffer | AppError>()
  const arrived = Promise.withResolvers<IncomingMessage>()
  const listener = await listen({
    host: '127.0.0.1',
    port: 0,
    handler: (request, response) => {
      arrived.resolve(request)
      void before(request)
        .then(() => readRawBody(request, maxBytes, watch))
        .then(outcome.resolve, outcome.resolve)
        .then(() => response.end('read'))
    },
  })
  const socket = connect(listener.port, '127.0.0.1')
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  const made: Reading = {
    outcome: outcome.promise,
    request: arrived.promise,
    socket,
    async [Symbol.asyncDispose]() {
      socket.destroy()
      await listener.close(0)
    },
  }
  return made
}

const HEAD = 'POST / HTTP/1.1\r\nHost: x\r\n'
const announced = (length: number): string => `${HEAD}Content-Length: ${length}\r\n\r\n`
const CHUNKED = `${HEAD}Transfer-Encoding: chunked\r\n\r\n`
const chunk = (size: number): string => `${size.toString(16)}\r\n${'x'.repeat(size)}\r\n`

describe('readRawBody', () => {
  it('reads the exact bytes, whatever they are and however they are split', async () => {
    await using call = await reading(1_000)
    const bytes = Buffer.from(Array.from({ length: 512 }, (_, at) => at % 256))
    call.socket.write(announced(bytes.length))
    for (let at = 0; at < bytes.length; at += 100) {
      call.socket.write(bytes.subarray(at, at + 100))
      // Most pieces arrive by themselves. If they do not, the test passes without that.
      await sleep(1)
    }
    expect(await call.outcome).toEqual(bytes)
  })

  it('refuses one byte more in chunks, before the end has come', async () => {
    await using call = await reading(1_000)
    call.socket.write(CHUNKED + chunk(1_000))
    call.socket.write(chunk(1))
    const refusal = await call.outcome
    expect(payloadTooLarge.is(refusal)).toBe(true)
    expect(refusal).toMatchObject({ status: 413, headers: { Connection: 'close' }, details: { maxBytes: 1_000 } })
  })

  it('refuses a length that is announced as too long without reading', async () => {
    await using call = await reading(1_000)
    call.socket.write(announced(1_001))
    expect(payloadTooLarge.is(await call.outcome)).toBe(true)
    expect((await call.request).readableFlowing).toBeNull()
  })

  it('stops reading beyond the limit', async () => {
    await using call = await reading(1_000)
    call.socket.write(CHUNKED)
    for (let at = 0; at < 50; at += 1) call.socket.write(chunk(100_000))
    expect(payloadTooLarge.is(await call.outcome)).toBe(true)
    expect((await call.request).isPaused()).toBe(true)
  })

  it.each([
    ['an announced length', announced(100)],
    ['chunks', CHUNKED + chunk(10)],
  ])('refuses a body of %s that is cut off', async (_what, request) => {
    await using call = await reading(1_000)
    call.socket.write(`${request}x`)
    await call.request
    call.socket.destroy()
    const refusal = await call.outcome
    expect(badRequest.is(refusal)).toBe(true)
    expect(refusal).toMatchObject({ status: 400, details: { reason: 'body broken off' } })
  })

  it('calls its watch with every chunk, and ends when that throws', async () => {
    const seen: number[] = []
    const onBytes = (count: number): void => {
      seen.push(count)
      if (count === 300) throw new Error('enough')
    }
    await using call = await reading(1_000, undefined, { onBytes, onReading: () => undefined })
    for (const size of [100, 200, 300]) {
      call.socket.write(size === 100 ? CHUNKED + chunk(size) : chunk(size))
    }
    expect(await call.outcome).toEqual(new Error('enough'))
    expect(seen).toEqual([100, 200, 300])
  })

  it.each([
    ['its watch ends it', (_: Reading, end: (reason: Error) => void) => end(new Error('somebody else needs the room'))],
    ['it is too large', ({ socket }: Reading) => void socket.write(randomBytes(200_000))],
    ['its sender disconnects', ({ socket }: Reading) => void socket.destroy()],
  ])('releases the memory of a body that is not read to its end at once, if %s', async (_, stop) => {
    const pieces: Buffer[] = []
    const { promise, resolve } = Promise.withResolvers<(reason: Error) => void>()
    const arrived = Promise.withResolvers<void>()
    const watch = { onBytes: () => (pieces.length === 2 ? arrived.resolve() : undefined), onReading: resolve }
    await using call = await reading(300_000, async (request) => recordPieces(request, pieces), watch)
    call.socket.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n${(500_000).toString(16)}\r\n`)
    call.socket.write(randomBytes(131_072))
    const end = await promise
    await arrived.promise
    stop(call, end)
    expect(await call.outcome).toBeInstanceOf(Error)
    const large = pieces.filter(({ buffer }) => buffer.byteLength >= 16_384)
    expect({ pieces: pieces.length > 1, large: large.length }).toEqual({ pieces: true, large: 0 })
  })

  it('leaves a body alone that is complete when its watch ends the reading', async () => {
    const { promise, resolve } = Promise.withResolvers<(reason: Error) => void>()
    await using call = await reading(100_000, undefined, { onBytes: () => undefined, onReading: resolve })
    const bytes = randomBytes(20_000)
    call.socket.write(announced(bytes.length))
    call.socket.write(bytes)
    const body = await call.outcome
    ;(await promise)(new Error('somebody else needs the room'))
    expect(body).toEqual(bytes)
  })
})

/** Keeps every piece of the body that the request emits. */
function recordPieces(request: IncomingMessage, pieces: Buffer[]): void {
  const emit = request.emit.bind(request)
  request.emit = (name: string, ...values: unknown[]) => {
    if (name === 'data') pieces.push(values[0] as Buffer)
    return emit(name, ...values)
  }
}
