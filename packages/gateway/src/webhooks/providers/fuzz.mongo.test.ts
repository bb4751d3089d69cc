import { Agent, request } from 'node:http'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { AppError } from '@oncehook/kernel/http/errors'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import type { Delivery, Provider, VerifiedDelivery } from '@oncehook/webhooks/providers'
import { createFuzzer, type FuzzedDelivery } from '@oncehook/webhooks/testing/fuzz-deliveries'
import { afterAll, describe, expect, it } from 'vitest'
import { startGateway } from '../../testing/start-gateway.ts'

const DELIVERIES = Number(process.env.FUZZ_DELIVERIES ?? 1_000)
/** The same seed makes the same deliveries. It is fixed: a run must not fail at an input that no change has made. */
const SEED = Number(process.env.FUZZ_SEED ?? 1)
/** How many deliveries go over the wire as well. */
const SENT = Math.floor(DELIVERIES / 4)
/** From how many on the route's memory is measured too. */
const LONG = 100_000
const LIMIT_MS = 300_000 + DELIVERIES * 5
const MAX_GROWTH_BYTES = 16 * 1_048_576

/** A provider's API that knows some objects and not others. */
const fetch: typeof globalThis.fetch = (asked) => {
  const path = String(asked)
  if (path.length % 3 === 0) return Promise.resolve(new Response('{}', { status: 404 }))
  const last =
    path
      .replace(/\/verify$/, '')
      .split('/')
      .at(-1) ?? ''
  const id = /^\d{1,15}$/.test(last) ? Number(last) : decodeURIComponent(last)
  const money = { value: '1.00', currency: 'EUR' }
  const found = { id, state: 'opened', status: 'paid', amount: money, data: { id, status: 'successful', amount: 1 } }
  return Promise.resolve(Response.json(found))
}

/** The status that the promised thing ends in; what is thrown and none of ours fails the test. */
async function statusOf(promise: Promise<number>, name: string): Promise<number> {
  try {
    return await promise
  } catch (error) {
    if (error instanceof AppError) return error.status
    throw new Error(name, { cause: error })
  }
}

/** What the functions of a provider make of a delivery, in the order in which the route calls them. */
async function judge({ provider, delivery, now }: FuzzedDelivery): Promise<number> {
  const verdict = await provider.verify(delivery, now, fetch)
  return 'refused' in verdict ? 401 : read(provider, verdict)
}

async function read(provider: Provider, delivery: VerifiedDelivery): Promise<number> {
  if (provider.answerHandshake(delivery) !== null) return 200
  const events = provider.readEvents(delivery)
  const answers = await Promise.all(events.map((event) => provider.confirm?.(event, fetch) ?? { event }))
  return answers.every((answer) => 'event' in answer) ? 200 : 401
}

/** Bytes of the heap that are in use after a collection. */
function usedHeap(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  return process.memoryUsage().heapUsed
}

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const agent = stack.adopt(new Agent({ keepAlive: true, maxSockets: 1 }), (one) => one.destroy())

function send(url: string, { rawBody, rawHeaders, query }: Delivery): Promise<number> {
  const headers = ['Host', 'gateway.example', 'Content-Length', String(rawBody.length), ...rawHeaders]
  return new Promise((resolve, reject) => {
    request(`${url}${query === '' ? '' : `?${query}`}`, { method: 'POST', agent, headers }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0))
    })
      .on('error', reject)
      .end(rawBody)
  })
}

describe(`${DELIVERIES} random deliveries over all schemes, FUZZ_SEED=${SEED}`, () => {
  it('are accepted or refused with 400 or 401, in constant memory', { timeout: LIMIT_MS }, async () => {
    const fuzzer = createFuzzer(SEED)
    const statuses = new Map<number, number>()
    let warmHeap = 0
    for (let index = 0; index < DELIVERIES; index += 1) {
      if (index === Math.floor(DELIVERIES / 4)) warmHeap = usedHeap()
      const one = fuzzer.next()
      const status = await statusOf(judge(one), one.name)
      // A changed delivery is hardly ever still signed. The reader gets it as if it were.
      const verified = { ...one.delivery, secretId: 's1' } as VerifiedDelivery
      const reading = await statusOf(read(one.provider, verified), one.name)
      if (![200, 400, 401].includes(status) || ![200, 400, 401].includes(reading)) {
        expect.fail(`${one.name}: ${status}, ${reading}`)
      }
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
    expect(usedHeap() - warmHeap).toBeLessThan(MAX_GROWTH_BYTES)
    // Hardly any is answered 400: only the generic shape without a mapping.
    expect(statuses.get(200)).toBeGreaterThan(DELIVERIES / 50)
    expect(statuses.get(401)).toBeGreaterThan(DELIVERIES / 10)
  })

  it('get 200, 400, 401, 404, 413 or 415 from the route, never a 500', { timeout: LIMIT_MS }, async () => {
    const fuzzer = createFuzzer(SEED)
    const clock = { ms: 0, now: () => clock.ms }
    const database = stack.use(await testDatabase(process.env))
    const gateway = stack.use(await startGateway({ database, providers: fuzzer.providers, clock, fetch }))
    const statuses = new Set<number>()
    const logs = gateway.logs as Record<string, unknown>[]
    let warmHeap = 0
    for (let index = 0; index < SENT; index += 1) {
      // What it logs is kept here, and is none of the gateway's memory.
      if (index % 1_000 === 0) logs.length = 0
      if (index === SENT >> 1) warmHeap = usedHeap()
      const { path, delivery, now, name } = fuzzer.nextSendable()
      clock.ms = now
      const status = await statusOf(send(`${gateway.url}/api/webhooks/${path}`, delivery), name)
      // 204 answers a ping of Discord's.
      if (![200, 204, 400, 401, 404, 413, 415].includes(status)) expect.fail(`${name}: ${status}`)
      statuses.add(status)
    }
    // Whatever of the gateway grows to a bound needs some thousand deliveries to be there.
    logs.length = 0
    if (DELIVERIES >= LONG) expect(usedHeap() - warmHeap).toBeLessThan(MAX_GROWTH_BYTES)
    expect([...statuses]).toEqual(expect.arrayContaining([200, 401, 404, 413, 415]))
  })
})
