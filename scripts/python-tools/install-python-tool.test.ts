import { existsSync, globSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'
import { installFrom } from './install-python-tool.ts'

const repository = resolve(import.meta.dirname, '../..')
const pinned = globSync(['scripts/python-tools/*.txt', 'examples/*/requirements.txt'], { cwd: repository })

it.each(pinned)('%s pins each package exactly, with its hashes', (name) => {
  const entries = readFileSync(join(repository, name), 'utf8')
    .trim()
    .split(/\n(?! )/)
  expect(entries.length).toBeGreaterThan(3)
  const loose = entries.filter(
    (entry) => !/^[\w.-]+==[\w.]+( ; .+?)? \\\n( +--hash=sha256:[0-9a-f]{64}( \\\n|$))+$/.test(entry),
  )
  expect(loose).toEqual([])
})

it.each([
  ['without a hash', 'attrs==26.1.0\n'],
  ['with another hash', `attrs==26.1.0 --hash=sha256:${'0'.repeat(64)}\n`],
])('a package %s is not installed', async (_, requirement) => {
  const folder = await mkdtemp(join(tmpdir(), 'oncehook-pip-'))
  const requirements = join(folder, 'requirements.txt')
  await writeFile(requirements, requirement)
  await expect(installFrom(requirements, join(folder, 'target'))).rejects.toThrow()
  expect(existsSync(join(folder, 'target'))).toBe(false)
  await rm(folder, { recursive: true })
})
