import { spawn } from 'node:child_process'
import { createHmac, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { newServiceKeyPair } from '@oncehook/kernel/testing/service-key-pair'
import { type TestDatabase, testDatabase } from '@oncehook/kernel/testing/test-database'
import { EVENTS } from '@oncehook/queue/task'
import { describe, expect, it } from 'vitest'
import { stablePort } from '../../../scripts/ports/stable-port.ts'
import { COMPILED_CODE } from '../../../test/support/compiled-code.ts'
import { hmacProvider } from './testing/hmac-provider.ts'

const SECRET = 'canary-secret-of-a-provider-in-a-test'
const MAIN = new URL('main.ts', import.meta.url).pathname
const PROVIDERS = { acme: hmacProvider({ id: 'only', value: SECRET }) }

/** A gateway with several processes, and the text of both its outputs. */
async function run(database: TestDatabase, settings: Readonly<Record<string, string>> = {}) {
  const [publicPort, adminPort] = [await stablePort(), await stablePort()]
  const child = spawn(process.execPath, [MAIN], {
    env: {
      ...COMPILED_CODE,
      MONGODB_URI: database.uri.reveal(),
      GATEWAY_DB: database.name,
      GATEWAY_PORT: String(publicPort),
      ADMIN_PORT: String(adminPort),
      FULFILMENT_URL: 'http://127.0.0.1:1',
      SERVICE_PRIVATE_KEY: newServiceKeyPair().privateKey,
      PROVIDERS: JSON.stringify(PROVIDERS),
      WORKERS: '2',
      ...settings,
    },
    stdio: 'pipe',
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const exited = once(child, 'exit') as Promise<[number | null]>
  const lines = (message: string): Record<string, unknown>[] =>
    output
      .split('\n')
      .filter((line) => line.includes(`"msg":"${message}"`))
      .map((line) => JSON.parse(line))
  return {
    child,
    exited,
    lines,
    output: () => output,
    url: `http://127.0.0.1:${publicPort}`,
    adminUrl: `http://127.0.0.1:${adminPort}`,
    workers: () => lines('worker.started').map(({ worker }) => Number(worker)),
    bothServe: () => expect.poll(() => lines('service.started').length).toBe(2),
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await exited
    },
  }
}

/** Delivers a new event on a new connection. Resolves to the status, or to what went wrong instead. */
async function deliver(url: string, id = randomUUID()): Promise<unknown> {
  const body = JSON.stringify({ id, type: 'customer.created', data: { object: { id } } })
  const signature = createHmac('sha256', SECRET).update(body).digest('hex')
  const headers = { 'x-signature': signature, 'content-type': 'application/json', connection: 'close' }
  const began = performance.now()
  const request = fetch(`${url}/api/webhooks/acme`, {
    method: 'POST',
    body,
    headers,
    signal: AbortSignal.timeout(60_000),
  })
  return request.then(
    ({ status }) => status,
    ({ name, cause }) => `${cause?.code ?? name} after ${performance.now() - began} ms`,
  )
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe('a gateway of several processes', () => {
  it('answers behind one port, shows the sum of all in its metrics, replaces a worker that was killed, while the other continues, and leaves none behind when it is killed itself', async () => {
    await using database = await testDatabase(process.env)
    await using gateway = await run(database)
    await gateway.bothServe()
    const [killed = 0, other = 0] = gateway.workers()
    expect(other).not.toBe(killed)

    const statuses = await Promise.all(Array.from({ length: 40 }, () => deliver(gateway.url)))
    expect(new Set(statuses)).toEqual(new Set([200]))
    expect(await database.db.collection(EVENTS).countDocuments()).toBe(40)
    for (let asked = 0; asked < 4; asked += 1) {
      const response = await fetch(`${gateway.adminUrl}/metrics`, { headers: { connection: 'close' } })
      expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/)
      const metrics = await response.text()
      expect(metrics).toContain('oncehook_deliveries_total{provider="acme",outcome="unhandled"} 40')
      expect(metrics).toContain('oncehook_events_unsettled 0')
    }

    process.kill(killed, 'SIGKILL')
    await expect.poll(() => gateway.lines('worker.died')).toMatchObject([{ worker: killed, signal: 'SIGKILL' }])
    expect(await deliver(gateway.url)).toBe(200)
    await expect.poll(() => gateway.lines('service.started').length).toBe(3)
    const [, , next = 0] = gateway.workers()
    expect([killed, other, next].map(isAlive)).toEqual([false, true, true])
    process.kill(other, 'SIGKILL')
    await expect.poll(() => deliver(gateway.url)).toBe(200)

    gateway.child.kill('SIGKILL')
    await gateway.exited
    await expect.poll(() => gateway.workers().filter(isAlive)).toEqual([])
  })

  it.each([1, 2])(
    'stops in order also when it is told to as soon as worker %i has been forked',
    async (count) => {
      await using database = await testDatabase(process.env)
      await using gateway = await run(database)
      await expect.poll(() => gateway.workers().length, { interval: 1 }).toBe(count)
      gateway.child.kill('SIGTERM')
      expect(await gateway.exited).toEqual([0, null])
      expect(gateway.workers().filter(isAlive)).toEqual([])
      expect(gateway.lines('service.stage-failed')).toEqual([])
      // The second is forked when the first serves. A worker that does not yet serve says nothing.
      expect(gateway.lines('service.stopped').length).toBeGreaterThanOrEqual(count)
    },
    60_000,
  )

  it('names once what a person must fix, and exits with 78', async () => {
    await using database = await testDatabase(process.env)
    await database.db.collection(EVENTS).createIndex({ elsewhere: 1 }, { name: 'task_key' })
    await using gateway = await run(database)
    expect(await gateway.exited).toEqual([78, null])
    expect(gateway.output().match(/Index task_key of events has another shape/g)).toHaveLength(1)
    expect(gateway.workers()).toHaveLength(1)

    await using misset = await run(database, { LEASE_MS: 'long' })
    expect(await misset.exited).toEqual([78, null])
    expect(misset.output().match(/LEASE_MS/g)).toHaveLength(1)
    expect(misset.workers()).toEqual([])
  })
})
