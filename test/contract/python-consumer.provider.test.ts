import { execFile } from 'node:child_process'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startGateway } from '@oncehook/gateway/testing/start-gateway'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { expect, it } from 'vitest'
import { requireTool } from '../../scripts/tools/find-tool.ts'
import { providersOf, verifySender } from './verify-sender.ts'
import { SENDERS } from './webhook-senders.ts'

const CONSUMER = 'python-shop'

it('keeps a contract that a team has written in Python', async (context) => {
  const env = { ...process.env, PYTHONPATH: await requireTool('pact-python', context) }
  await using folder = await mkdtempDisposable(join(tmpdir(), 'pacts-'))
  const program = join(import.meta.dirname, 'python-consumer.py')
  await promisify(execFile)('python3', [program, folder.path], { env })
  const name = `${CONSUMER}-gateway.json`
  const file = join(folder.path, name)
  const [standard = expect.unreachable()] = SENDERS
  const sender = { ...standard, name: CONSUMER, provider: { scheme: 'standard-webhooks', effects: [] } }
  await using database = await testDatabase(process.env)
  await using gateway = await startGateway({ database, providers: providersOf([sender]) })
  await verifySender({ name, file }, sender, { url: gateway.url, db: database.db })
  const stored = await database.db.collection('events').find().toArray()
  expect(stored.map(({ eventId }) => eventId).toSorted()).toEqual(['py_again', 'py_new'])
})
