import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'

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
