import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { expect, it, onTestFailed, onTestFinished, vi } from 'vitest'
import { born } from '../../processes/process-lock.mjs'
import { tryMutations } from './try-mutations.ts'

const DEPENDENCIES = resolve(import.meta.dirname, '../../../node_modules')

/** A test that runs until it is ended, and writes a file to show that it runs. */
const ENDLESS = `
import { writeFileSync } from 'node:fs'
import { it } from 'vitest'
it('continues', { timeout: 600_000 }, async () => {
  writeFileSync(process.env.RUNS, String(process.pid))
  await new Promise((resolve) => setTimeout(resolve, 600_000))
})`

/** A test that fails without any mutation, as soon as the other test runs. */
const UNSOUND = `
import { existsSync } from 'node:fs'
import { it } from 'vitest'
it('fails', { timeout: 60_000 }, async () => {
  while (!existsSync(process.env.RUNS)) await new Promise((resolve) => setTimeout(resolve, 20))
  throw new Error('unsound from the start')
})`

async function makeRepository(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'oncehook-trial-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const files = {
    'packages/one/source.ts': 'export const one = 1\n',
    'contracts/one.json': '{}',
    'scripts/one.ts': '',
    'test/contract/gateway-fulfilment.test.ts': UNSOUND,
    'test/endless.test.ts': ENDLESS,
    'package.json': '{ "type": "module" }',
    'tsconfig.json': '{}',
    'vitest.config.ts': 'export default {}\n',
    'copies/.keep': '',
  }
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), content)
  }
  await symlink(DEPENDENCIES, join(folder, 'node_modules'))
  return folder
}

const MUTATION = {
  breaks: 'one is two',
  tells: 'one',
  file: 'packages/one/source.ts',
  find: 'one = 1',
  replace: 'one = 2',
  test: 'test/endless.test.ts',
  consumers: ['nobody'],
}

it('ends every run and leaves no copy behind when the tests fail without a mutation', {
  timeout: 120_000,
}, async () => {
  const repository = await makeRepository()
  const copies = join(repository, 'copies')
  vi.stubEnv('TMPDIR', copies)
  onTestFinished(() => void vi.unstubAllEnvs())
  const env = { ...process.env, RUNS: join(repository, 'runs') }
  const trial = tryMutations({
    ...{ repository, mutations: [MUTATION], harmless: [], parallel: 2, env },
    tell: () => undefined,
  })
  await expect(trial).rejects.toThrow('unsound from the start')
  expect(await readdir(copies)).toEqual(['.keep'])
  const pid = Number(await readFile(env.RUNS, 'utf8'))
  onTestFailed(() => void process.kill(pid))
  await vi.waitUntil(() => born(pid) === undefined, { timeout: 30_000 })
})
