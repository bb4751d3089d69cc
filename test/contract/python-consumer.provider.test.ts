import { execFile } from 'node:child_process'
import { mkdtempDisposable, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { verifyConsumer } from '../../packages/cli/src/contract/verify-consumer.ts'
import { installPythonTool } from '../../scripts/python-tools/install-python-tool.ts'
import { NOT_TO_BE_HAD } from '../../scripts/test/tally.ts'
import { verifySender } from './verify-sender.ts'

const CONSUMER = 'python-shop'

const say = (line: string): void => void process.stderr.write(`${line}\n`)

it('keeps a contract that a team has written in Python', { timeout: 180_000 }, async ({ skip }) => {
  const tool = { name: 'pact-python', command: 'python3' }
  const installed = await installPythonTool(tool, process.env, say).catch(() => null)
  const { env } = installed ?? skip(`${NOT_TO_BE_HAD}pip cannot install pact-python`)
  await using folder = await mkdtempDisposable(join(tmpdir(), 'pacts-'))
  const program = join(import.meta.dirname, 'python-consumer.py')
  await promisify(execFile)('python3', [program, folder.path], { env })
  const name = `${CONSUMER}-gateway.json`
  const file = join(folder.path, name)
  const checked = verifyConsumer(JSON.parse(await readFile(file, 'utf8')))
  expect(checked).toEqual({ consumer: CONSUMER, provider: 'gateway', interactions: 3, problems: [] })
  expect(await verifySender({ name, file }, CONSUMER)).toEqual(['py_again', 'py_new'])
})
