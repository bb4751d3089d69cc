import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { newServiceKeyPair, testServiceTokens } from '@oncehook/kernel/testing/service-key-pair'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { describe, expect, it, vi } from 'vitest'
import { stablePort } from '../../../scripts/ports/stable-port.ts'
import { COMPILED_CODE } from '../../../test/support/compiled-code.ts'
import { startFaultProxy } from '../../../test/support/stack/fault-proxy.ts'
import { fulfilmentClient, refusalOf } from './testing/fulfilment-client.ts'
import { sampleOrder } from './testing/samples.ts'

const KEYS = newServiceKeyPair()
const MAIN = new URL('main.ts', import.meta.url).pathname
/** A port at which nothing listens. */
const NOBODY = 1

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
    await using way = await startFaultProxy()
    const open = (): void => way.leadTo(Number(new URL(database.uri.reveal()).port))
    const shut = (): void => {
      way.leadTo(NOBODY)
      way.breakSome(100)
    }
    shut()
    const port = await stablePort()
    await using service = await run({
      MONGODB_URI: `mongodb://127.0.0.1:${way.port}/?directConnection=true`,
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
    open()
    await expect.poll(readiness).toEqual(ready)
    // One working connection is enough to be ready. Others in the pool may not have noticed yet that they are dead.
    const { order } = await persistent(() => orders.create.mutate({ order: sampleOrder() }))

    shut()
    await expect.poll(readiness).toEqual(away)
    expect(await refusalOf(orders.get.query({ id: order.id }))).toMatchObject({ httpStatus: 503, retry: 'later' })
    expect((await fetch(`${url}/livez`)).status).toBe(200)
    open()
    await expect.poll(readiness).toEqual(ready)
    expect(await persistent(() => orders.get.query({ id: order.id }))).toEqual(order)

    service.child.kill('SIGTERM')
    expect(await service.exited).toEqual([0, null])
    expect(service.output()).not.toMatch(/mongodb:\/\//)
  })
})
