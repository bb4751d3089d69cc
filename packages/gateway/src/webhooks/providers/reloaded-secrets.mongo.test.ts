import { createHmac } from 'node:crypto'
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, describe, expect, it } from 'vitest'
import { PROVIDER_STATS, type ProviderCounter } from '../../inbox/statistics/provider-stats.ts'
import { startGateway } from '../../testing/start-gateway.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const folder = await mkdtemp(join(tmpdir(), 'oncehook-secrets-'))
stack.defer(() => rm(folder, { recursive: true }))
const file = join(folder, 'providers.json')

const texts = { first: 'the first secret of a test', second: 'the second secret of a test' }
const secretOf = (id: keyof typeof texts) => ({ id, value: texts[id] })
const soon = new Date(Date.now() + 6 * 86_400_000).toISOString()

/** Exchanges a file at once, as mounted secrets are. */
async function exchange(path: string, content: string): Promise<void> {
  await writeFile(`${path}.new`, content)
  await rename(`${path}.new`, path)
}

async function configure(secrets: readonly object[]): Promise<void> {
  await exchange(file, JSON.stringify({ acme: { scheme: 'github', secrets } }))
}

await configure([{ ...secretOf('first'), notAfter: soon }])
const database = stack.use(await testDatabase(process.env))
// What an earlier process has counted.
const lastAt = new Date()
await database.db.collection<ProviderCounter>(PROVIDER_STATS).insertOne({
  _id: { provider: 'acme', kind: 'secret', name: 'first' },
  ...{ count: 7, lastAt, longestGapMs: 0, gapsSince: lastAt },
})
const settings = { PROVIDERS: '', PROVIDERS_FILE: file }
const gateway = stack.use(await startGateway({ database, settings }))

async function deliver(secret: string): Promise<number> {
  const body = '{"zen":"Design for failure."}'
  const signature = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
  const headers = { 'content-type': 'application/json', 'x-hub-signature-256': signature }
  const response = await fetch(`${gateway.url}/api/webhooks/acme`, { method: 'POST', headers, body })
  await response.arrayBuffer()
  return response.status
}

describe('the secrets of a running gateway', () => {
  it('are warned of while one that ends soon still matches', async () => {
    await expect
      .poll(() => gateway.logs.filter(({ msg }) => msg === 'secret.expires-soon'))
      .toMatchObject([
        { level: 'warn', provider: 'acme', secretId: 'first', notAfter: soon, lastMatchedAt: lastAt.toISOString() },
      ])
  })

  it('are counted by their names, with the time of the last match', async () => {
    await configure([secretOf('first'), secretOf('second')])
    await expect.poll(() => deliver(texts.second)).toBe(200)
    expect([await deliver(texts.first), await deliver(texts.first)]).toEqual([200, 200])
    const statOf = async (name: string) =>
      database.db.collection<ProviderCounter>(PROVIDER_STATS).findOne({ '_id.kind': 'secret', '_id.name': name })
    await expect.poll(async () => (await statOf('first'))?.count).toBe(9)
    await expect.poll(async () => (await statOf('second'))?.count).toBe(1)
    expect((await statOf('first'))?.lastAt.getTime()).toBeGreaterThan(lastAt.getTime())
  })
})
