import { Counter, Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { listen } from './listen.ts'
import { createProbes, type ReadinessChecks } from './probes.ts'

/** Probes behind a real listener. Other requests are answered with 418. */
async function probing(checks: ReadinessChecks, collect = (): void => undefined) {
  const metrics = new Registry()
  new Counter({ name: 'deliveries_total', help: 'Deliveries', registers: [metrics], collect }).inc(3)
  const time = { ms: 5_000 }
  const probes = createProbes({ checks, metrics, now: () => time.ms })
  const listener = await listen({
    host: '127.0.0.1',
    port: 0,
    handler: (request, response) => {
      void probes(request, response).then((handled) => {
        if (!handled) response.writeHead(418).end()
      })
    },
  })
  return {
    time,
    ask: (path: string, method = 'GET') => fetch(`http://127.0.0.1:${listener.port}${path}`, { method }),
    [Symbol.asyncDispose]: () => listener.close(0),
  }
}

const fine = async (): Promise<void> => undefined

describe('createProbes', () => {
  it('answers /livez without asking any dependency', async () => {
    await using service = await probing({ mongodb: () => Promise.reject(new Error('away')) })
    const answer = await service.ask('/livez')
    expect(answer.status).toBe(200)
    expect(await answer.json()).toEqual({ status: 'ok' })
  })

  it('answers 503 and names the dependency that is unavailable, without a reason', async () => {
    await using service = await probing({
      mongodb: () => Promise.reject(new Error('canary')),
      fulfilment: fine,
      receipts: () => {
        throw new Error('canary')
      },
    })
    const answer = await service.ask('/readyz')
    expect(answer.status).toBe(503)
    const body = await answer.text()
    expect(JSON.parse(body)).toEqual({
      status: 'unavailable',
      checks: { mongodb: 'unavailable', fulfilment: 'ok', receipts: 'unavailable' },
    })
    expect(body).not.toContain('canary')
  })

  it('does not wait for a dependency that hangs', async () => {
    await using service = await probing({ mongodb: () => new Promise(() => undefined), fulfilment: fine })
    const answer = await service.ask('/readyz')
    expect(answer.status).toBe(503)
    expect(await answer.json()).toMatchObject({ checks: { mongodb: 'unavailable', fulfilment: 'ok' } })
  })

  it.each(['/readyz', '/metrics'])('looks at most once a second for all who ask for %s', async (path) => {
    let looks = 0
    const look = (): void => {
      looks += 1
    }
    await using service = await probing({ mongodb: async () => look() }, look)
    const ask = () => Promise.all(Array.from({ length: 5 }, () => service.ask(path).then((answer) => answer.text())))
    const told = new Set([...(await ask()), ...(await ask())])
    expect({ looks, answers: told.size }).toEqual({ looks: 1, answers: 1 })
    service.time.ms += 1_000
    expect(told).toContain((await ask())[0])
    expect(looks).toBe(2)
  })
})
