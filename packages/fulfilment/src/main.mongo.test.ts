import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { newServiceKeyPair, testServiceTokens } from '@oncehook/kernel/testing/service-key-pair'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { describe, expect, it, vi } from 'vitest'
import { stablePort } from '../../../scripts/ports/stable-port.ts'
import { COMPILED_CODE } from '../../../test/support/compiled-code.ts'
import { fulfilmentClient, refusalOf } from './testing/fulfilment-client.ts'
import { sampleOrder } from './testing/samples.ts'

const KEYS = newServiceKeyPair()
const MAIN = new URL('main.ts', import.meta.url).pathname

/** A proxy to the database that can be shut and opened. */
async function gate(to: string) {
  const target = new URL(to)
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    const onward = connect(Number(target.port), target.hostname)
    for (const end of [socket, onward]) sockets.add(end.on('error', () => {}).on('close', () => sockets.delete(end)))
    socket.pipe(onward).pipe(socket)
  })
  const open = async (port: number): Promise<number> => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as { port: number }).port
  }
  const shut = async (): Promise<void> => {
    const closed = once(server, 'close')
    server.close()
    for (const socket of sockets) socket.destroy()
    await closed
  }
  const port = await open(0)
  const uri = `mongodb://127.0.0.1:${port}/?directConnection=true`
  const disposed = async (): Promise<void> => void (server.listening && (await shut()))
  return { uri, shut, open: () => open(port), [Symbol.asyncDispose]: disposed }
}

/** Fulfilment as a separate process. */
async function run(env: NodeJS.ProcessEnv) {
  const child = spawn(process.execPath, [MAIN], {
    env: { ...COMPILED_CODE, SERVICE_PUBLIC_KEYS: KEYS.publicKey, ...env },
    stdio: 'pipe',
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const exited = once(child, 'exit') as Promise<[number | null]>
  return { child, exited, output: () => output, [Symbol.asyncDispose]: () => end(child, exited) }
}

async function end(child: ChildProcess, exited: Promise<unknown>): Promise<void> {
  child.kill('SIGKILL')
  await exited
}

/** Retries calls that are refused temporarily, as callers do. */
function persistent<T>(call: () => Promise<T>): Promise<T> {
  return vi.waitFor(call, { timeout: 120_000 })
}

describe('fulfilment as a process', () => {
  it('waits for its database, serves, says when the database is unavailable, recovers, and stops in order', async () => {
    await using database = await testDatabase(process.env)
    await using way = await gate(database.uri.reveal())
    await way.shut()
    const port = await stablePort()
    await using service = await run({
      MONGODB_URI: way.uri,
      FULFILMENT_DB: database.name,
      FULFILMENT_PORT: String(port),
    })
    const url = `http://127.0.0.1:${port}`
    const { orders } = fulfilmentClient({ url, tokens: testServiceTokens(KEYS) })
    const readiness = async () => {
      const response = await fetch(`${url}/readyz`).catch(() => null)
      return response && [response.status, await response.json()]
    }
    const ready = [200, { status: 'ok', checks: { mongodb: 'ok' } }]
    const away = [503, { status: 'unavailable', checks: { mongodb: 'unavailable' } }]

    await expect.poll(readiness).toEqual(away)
    expect(await refusalOf(orders.list.query({}))).toMatchObject({
      httpStatus: 503,
      reason: 'unavailable',
      retry: 'later',
    })
    await way.open()
    await expect.poll(readiness).toEqual(ready)
    // One working connection is enough to be ready. Others in the pool may not have noticed yet that they are dead.
    const { order } = await persistent(() => orders.create.mutate({ order: sampleOrder() }))

    await way.shut()
    await expect.poll(readiness).toEqual(away)
    expect(await refusalOf(orders.get.query({ id: order.id }))).toMatchObject({ httpStatus: 503, retry: 'later' })
    expect((await fetch(`${url}/livez`)).status).toBe(200)
    await way.open()
    await expect.poll(readiness).toEqual(ready)
    expect(await persistent(() => orders.get.query({ id: order.id }))).toEqual(order)

    service.child.kill('SIGTERM')
    expect(await service.exited).toEqual([0, null])
    expect(service.output()).not.toMatch(/mongodb:\/\//)
  })
})
