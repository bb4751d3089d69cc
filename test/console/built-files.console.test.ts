import { execFile } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'

const console = resolve(import.meta.dirname, '../../packages/console')
const VITE = resolve(import.meta.dirname, '../../node_modules/vite/bin/vite.js')
const run = promisify(execFile)
const MOST_OCTETS = 250_000

function filesOf(folder: string): Map<string, Buffer> {
  const names = globSync('**/*.*', { cwd: folder })
  return new Map(names.toSorted().map((name) => [name, readFileSync(join(folder, name))]))
}

it('the files in packages/console/dist are those that its sources give: npm run console:build', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'oncehook-console-'))
  try {
    const { NODE_ENV: _, ...env } = process.env // a test run sets it, and it would change the build
    await run(process.execPath, [VITE, 'build', console, '--outDir', folder, '--logLevel', 'warn'], { env })
    const [built, committed] = [filesOf(folder), filesOf(join(console, 'dist'))]
    expect(built.size).toBeGreaterThan(3)
    expect([...committed.keys()]).toEqual([...built.keys()])
    for (const [name, bytes] of built) expect([name, committed.get(name)?.equals(bytes)]).toEqual([name, true])
  } finally {
    await rm(folder, { recursive: true })
  }
})

it('all that a browser loads at first is less than 250 KB, compressed', () => {
  const sizes = [...filesOf(join(console, 'dist')).values()].map((bytes) => gzipSync(bytes).length)
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(MOST_OCTETS)
})

it('the page has no script and no style inside, and all its files are assets', () => {
  const page = readFileSync(join(console, 'dist/index.html'), 'utf8')
  expect(page).not.toMatch(/<style|style=|\son\w+=|<script(?![^>]*\bsrc="\/assets\/)|data:/)
  expect(Array.from(page.matchAll(/(?:src|href)="([^"]*)"/g), ([, address = '']) => address.slice(0, 8))).toEqual(
    expect.arrayContaining(['/assets/']),
  )
})
