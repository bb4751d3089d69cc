import { execFile } from 'node:child_process'
import { mkdtempDisposable, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startGateway } from '@oncehook/gateway/testing/start-gateway'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { expect, it } from 'vitest'
import { verifyConsumer } from '../../packages/cli/src/contract/verify-consumer.ts'
import { installPythonTool } from '../../scripts/python-tools/install-python-tool.ts'
import { NOT_TO_BE_HAD } from '../../scripts/test/tally.ts'
import { verifyContract } from './verify-contract.ts'
import { bytesOf, SENDERS } from './webhook-senders.ts'

const CONSUMER = 'python-shop'
const SECRET = `whsec_${Buffer.from('the secret of this test, 32 byte').toString('base64')}`
const OTHER_SECRET = `whsec_${Buffer.from('a secret of somebody else, 32 by').toString('base64')}`
const HOUR_MS = 3_600_000
const PROVIDER = { scheme: 'standard-webhooks', effects: [], secrets: [{ id: '1', value: SECRET }] }

interface Named {
  readonly eventId: string
  readonly type: string
}

const say = (line: string): void => void process.stderr.write(`${line}\n`)

it('keeps a contract that a team has written in Python', { timeout: 180_000 }, async ({ skip }) => {
  const tool = { name: 'pact-python', command: 'python3' }
  const installed = await installPythonTool(tool, process.env, say).catch(() => null)
  const { env } = installed ?? skip(`${NOT_TO_BE_HAD}pip cannot install pact-python`)
  await using folder = await mkdtempDisposable(join(tmpdir(), 'pacts-'))
  const program = join(import.meta.dirname, 'python-consumer.py')
  await promisify(execFile)('python3', [program, folder.path], { env })
  const file = join(folder.path, `${CONSUMER}-gateway.json`)
  const checked = verifyConsumer(JSON.parse(await readFile(file, 'utf8')))
  expect(checked).toEqual({ consumer: CONSUMER, provider: 'gateway', interactions: 3, problems: [] })

  await using database = await testDatabase(process.env)
  await using gateway = await startGateway({ database, providers: { [CONSUMER]: PROVIDER } })
  const signer = SENDERS.find(({ name }) => name === 'standard-webhooks')?.signer ?? expect.unreachable()
  let signing = { secret: SECRET, now: Date.now() }
  const signed = (body: Buffer, eventId: string) => Object.fromEntries(signer.sign({ body, ...signing, eventId }))
  const signNow = (): void => {
    signing = { secret: SECRET, now: Date.now() }
  }
  await verifyContract({
    contract: { name: `${CONSUMER}-gateway.json`, file },
    url: gateway.url,
    isPartial: true,
    filter(request) {
      const body = bytesOf(Buffer.isBuffer(request.body) ? JSON.parse(request.body.toString()) : request.body)
      request.body = body
      const headers = { ...signed(body, request.headers['webhook-id'] ?? ''), 'content-length': String(body.length) }
      Object.assign(request.headers, headers)
    },
    states: {
      'the event is not known': async () => signNow(),
      async 'the event was delivered before'({ eventId: id, type }: Named) {
        signNow()
        const body = bytesOf({ id, type, data: { object: { id: `count_of_${id}` } } })
        const headers = { 'content-type': 'application/json', ...signed(body, id) }
        const sent = { method: 'POST', headers, body }
        expect((await fetch(`${gateway.url}/api/webhooks/${CONSUMER}`, sent)).status).toBe(200)
      },
      async 'the sender has another secret'() {
        signing = { secret: OTHER_SECRET, now: Date.now() }
      },
      async 'the sender signed an hour ago'() {
        signing = { secret: SECRET, now: Date.now() - HOUR_MS }
      },
    },
  })
  const stored = await database.db.collection('events').find().toArray()
  expect(stored.map(({ eventId }) => eventId).toSorted()).toEqual(['py_again', 'py_new'])
})
