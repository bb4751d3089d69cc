import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findMongod } from './find-mongod.ts'

async function folderWith(scripts: Record<string, string>) {
  const path = await mkdtemp(join(tmpdir(), 'oncehook-find-'))
  for (const [name, script] of Object.entries(scripts)) {
    await writeFile(join(path, name), `#!/bin/sh\n${script}\n`)
    await chmod(join(path, name), 0o755)
  }
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) }
}

function search(env: NodeJS.ProcessEnv) {
  const said: string[] = []
  return { env, say: (line: string) => said.push(line), said }
}

const unavailable = { name: 'the cache', find: () => Promise.reject(new Error('there is none yet')) }
const candidate = (name: string, path: string) => ({ name, find: () => path, expected: true })

describe('findMongod', () => {
  it('uses the first server that runs', async () => {
    await using folder = await folderWith({ mongod: 'echo "db version v7.0.2"' })
    const asked = search({ MONGOD_BINARY: join(folder.path, 'mongod') })
    expect(await findMongod(asked)).toEqual({ binary: join(folder.path, 'mongod'), version: '7.0.2' })
    expect(asked.said).toEqual([])
  })

  it('finds mongod on PATH', async () => {
    await using folder = await folderWith({ mongod: 'echo "db version v6.0.5"' })
    const found = await findMongod(search({ PATH: `/nowhere:${folder.path}` }))
    expect(found.binary).toBe(join(folder.path, 'mongod'))
  })

  it('skips a server that is too old, and says so', async () => {
    await using folder = await folderWith({ old: 'echo "db version v4.4.29"', good: 'echo "db version v8.0.1"' })
    const asked = search({})
    const [old, good] = [join(folder.path, 'old'), join(folder.path, 'good')]
    const found = await findMongod(asked, [candidate('MONGOD_BINARY', old), candidate('mongod on PATH', good)])
    expect(found.version).toBe('8.0.1')
    expect(asked.said).toEqual([
      `Skipping MONGOD_BINARY (${old}): it is version 4.4.29, but 6.0 is the oldest supported one`,
    ])
  })

  it('names every way with its reason, and what to do, if none works', async () => {
    await using folder = await folderWith({
      broken: 'echo "libcurl.so.4: cannot open shared object file" >&2; exit 127',
    })
    const broken = candidate('MONGOD_BINARY', join(folder.path, 'broken'))
    const absent = candidate('mongod on PATH', join(folder.path, 'absent'))
    const failure = await findMongod(search({}), [broken, absent, unavailable]).catch((error: Error) => error.message)
    expect(failure).toContain(
      `MONGOD_BINARY (${broken.find()}): it does not run: libcurl.so.4: cannot open shared object`,
    )
    expect(failure).toContain(`mongod on PATH (${absent.find()}): it does not run: there is no such file`)
    expect(failure).toContain('the cache: there is none yet')
    expect(failure).toContain('set MONGODB_URI')
  })
})
