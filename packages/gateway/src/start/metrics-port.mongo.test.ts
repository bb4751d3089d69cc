import { startFulfilment } from '@oncehook/fulfilment/testing/start-fulfilment'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import * as undici from 'undici'
import { expect, it } from 'vitest'
import { stablePort } from '../../../../scripts/ports/stable-port.ts'
import { startGateway } from '../testing/start-gateway.ts'

const statusOf = async (url: string): Promise<number> => (await fetch(url)).status

async function statusBy(host: string, url: string): Promise<number> {
  const { statusCode, body } = await undici.request(url, { headers: { host } })
  await body.dump()
  return statusCode
}

it('METRICS_PORT serves the metrics and nothing else, and the private listener no longer does', async () => {
  await using database = await testDatabase(process.env)
  await using inner = await testDatabase(process.env)
  const [port, other] = [await stablePort(), await stablePort()]
  await using gateway = await startGateway({ database, settings: { METRICS_PORT: String(port), PRIVATE_NAMES: 'own' } })
  await using fulfilment = await startFulfilment({
    uri: inner.uri,
    database: inner.name,
    settings: { METRICS_PORT: String(other), PRIVATE_NAMES: 'own' },
  })
  for (const [listener, own] of [
    [gateway.adminUrl, port],
    [fulfilment.url, other],
  ] as const) {
    const metrics = await fetch(`http://127.0.0.1:${own}/metrics`)
    expect([metrics.status, await metrics.text()]).toEqual([200, expect.stringContaining('process_cpu_seconds_total')])
    expect(await statusOf(`${listener}/metrics`)).toBe(404)
    expect(await statusOf(`${listener}/livez`)).toBe(200)
    for (const path of ['/livez', '/readyz', '/operator/overview', '/trpc/orders.list', '/']) {
      expect(await statusOf(`http://127.0.0.1:${own}${path}`)).toBe(404)
    }
    for (const url of [`http://127.0.0.1:${own}/metrics`, `${listener}/livez`]) {
      expect(await statusBy('evil.example', url)).toBe(421)
      for (const host of ['own:9464', '10.1.2.3', 'localhost']) expect(await statusBy(host, url)).toBe(200)
    }
  }
})
