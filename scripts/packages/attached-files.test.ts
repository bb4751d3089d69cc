import { mkdtempDisposable, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { writeSchemasFile } from './attached-files.ts'

const repository = resolve(import.meta.dirname, '../..')
type Schema = Parameters<typeof z.fromJSONSchema>[0]

it('publishes schemas of every procedure, which accept what the recorded consumers send', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'schemas-'))
  const file = join(folder.path, 'procedure-schemas.json')
  await writeSchemasFile(repository, file)
  const { providers, version } = JSON.parse(await readFile(file, 'utf8')) as {
    version: string
    providers: Record<string, { procedures: Record<string, { input: Schema; output: Schema }> }>
  }
  expect(version).toMatch(/^\d+\.\d+\.\d+$/)
  expect(Object.keys(providers)).toEqual(['fulfilment', 'handler', 'operator'])
  const { 'events.handle': handle } = providers.handler?.procedures ?? {}
  const pact = JSON.parse(await readFile(join(repository, 'contracts/gateway-trpc-handler.json'), 'utf8')) as {
    interactions: { request: { body: { content: unknown } }; response: { status: number; body?: { content: never } } }[]
  }
  const input = z.fromJSONSchema(handle?.input as Schema)
  expect(pact.interactions.length).toBeGreaterThan(3)
  for (const { request } of pact.interactions) expect(input.safeParse(request.body.content).success).toBe(true)
  expect(input.safeParse({ handler: 'billing' }).success).toBe(false)
})
