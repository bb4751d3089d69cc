import { Counter, Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { listen } from './listen.ts'
import { createProbes, type ReadinessChecks } from './probes.ts'

/** Probes behind a real listener. Other requests are answered with 418. */
async function probing(checks: ReadinessChecks) {
  const metrics = new Registry()
  new Counter({ name: 'deliveries_total', help: 'Deliveries', registers: [metrics] }).inc(3)
  const probes = createProbes({ checks, metrics })
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

  it('is ready when every dependency answers', async () => {
    await using service = await probing({ mongodb: fine, fulfilment: fine })
    const answer = await service.ask('/readyz?verbose')
    expect(answer.status).toBe(200)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(await answer.json()).toEqual({ status: 'ok', checks: { mongodb: 'ok', fulfilment: 'ok' } })
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

  it('shows the metrics in the text format of Prometheus', async () => {
    await using service = await probing({})
    const answer = await service.ask('/metrics')
    expect(answer.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/)
    expect(await answer.text()).toContain('deliveries_total 3')
  })

  it.each(['/livez', '/readyz', '/metrics'])('answers HEAD on %s as GET, without the body', async (path) => {
    await using service = await probing({ mongodb: fine })
    const [head, got] = await Promise.all([service.ask(path, 'HEAD'), service.ask(path)])
    expect(head.status).toBe(200)
    expect(head.headers.get('content-length')).toBe(got.headers.get('content-length'))
    expect(await head.text()).toBe('')
  })

  it('answers 405 to every other method, and checks no dependency for it', async () => {
    const asked: string[] = []
    await using service = await probing({ mongodb: async () => void asked.push('mongodb') })
    const answer = await service.ask('/readyz', 'POST')
    expect(answer.status).toBe(405)
    expect(answer.headers.get('allow')).toBe('GET, HEAD')
    expect(await answer.json()).toMatchObject({ code: 'method_not_allowed', error: 'This method is not allowed here' })
    expect(asked).toEqual([])
  })

  it.each(['/', '/livez/', '/LIVEZ', '/metrics2', '//readyz'])('leaves %s alone', async (path) => {
    await using service = await probing({})
    expect((await service.ask(path)).status).toBe(418)
  })
})
