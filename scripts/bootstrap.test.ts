import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'

// A minimal clone: the real bootstrap, a lock file without dependencies, and one script to run.
async function clone(script: string) {
  const path = await mkdtemp(join(tmpdir(), 'oncehook-clone-'))
  await mkdir(join(path, 'scripts', 'processes'), { recursive: true })
  for (const name of ['bootstrap.mjs', 'processes/process-lock.mjs', 'choose-for-node-24.cjs']) {
    await copyFile(join(import.meta.dirname, name), join(path, 'scripts', name))
  }
  const manifest = { name: 'clone', version: '1.0.0', private: true, type: 'module' }
  const lock = {
    ...manifest,
    lockfileVersion: 3,
    packages: { '': { ...manifest, devDependencies: { tiny: 'file:tiny' } } },
  }
  await writeFile(join(path, 'package.json'), JSON.stringify({ ...manifest, devDependencies: { tiny: 'file:tiny' } }))
  await mkdir(join(path, 'tiny'))
  await writeFile(join(path, 'tiny', 'package.json'), JSON.stringify({ name: 'tiny', version: '1.0.0' }))
  const packages = {
    ...lock.packages,
    tiny: { version: '1.0.0', dev: true },
    'node_modules/tiny': { resolved: 'tiny', link: true },
  }
  await writeFile(join(path, 'package-lock.json'), JSON.stringify({ ...lock, packages }))
  await writeFile(join(path, 'script.ts'), script)
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

function start(path: string, ...args: string[]): ChildProcess {
  return spawn(process.execPath, ['scripts/bootstrap.mjs', 'script.ts', ...args], { cwd: path, stdio: 'pipe' })
}

async function result(child: ChildProcess) {
  const [stdout, stderr, [code, signal]] = await Promise.all([
    text(child.stdout!),
    text(child.stderr!),
    once(child, 'exit'),
  ])
  return { stdout, stderr, code, signal }
}

describe('bootstrap', () => {
  it('installs once when it is called twice at the same time, and again if the lock file is newer than the installation', async () => {
    await using folder = await clone('console.log(JSON.stringify(process.argv.slice(2))); process.exitCode = 7')
    const run = () => result(start(folder.path, '--json', 'a b'))
    const both = await Promise.all([run(), run()])
    for (const one of both) expect(one).toMatchObject({ code: 7, stdout: '["--json","a b"]\n' })
    const said = /^Installing the dependencies .*\nInstalled the dependencies in \d+ s\n$/
    expect(both.filter(({ stderr }) => said.test(stderr))).toHaveLength(1)
    expect(await result(start(folder.path))).toMatchObject({ code: 7, stdout: '[]\n', stderr: '' })
    const later = new Date(Date.now() + 60_000)
    await utimes(join(folder.path, 'package-lock.json'), later, later)
    expect((await run()).stderr).toMatch(said)
  })

  it('says what to do when the installation fails', async () => {
    await using folder = await clone('')
    await writeFile(
      join(folder.path, 'package.json'),
      JSON.stringify({ name: 'clone', devDependencies: { other: '1.0.0' } }),
    )
    const failed = await result(start(folder.path))
    expect(failed).toMatchObject({ code: 1, stdout: '' })
    expect(failed.stderr).toContain('npm ci failed; the reason is above')
  })

  it('hands SIGTERM to the script and ends as the script does, and ends the script if npm is killed', async () => {
    await using folder = await clone(
      'process.on("SIGTERM", () => { console.log("told"); process.exit(0) }); setInterval(() => {}, 1e6); console.log("up")',
    )
    const child = start(folder.path)
    const ended = result(child)
    await once(child.stdout!, 'data')
    child.kill('SIGTERM')
    expect(await ended).toMatchObject({ code: 0, signal: null })

    const line = `${process.execPath} scripts/bootstrap.mjs script.ts & wait`
    const shell = spawn('sh', ['-c', line], { cwd: folder.path, stdio: 'pipe' })
    const output = text(shell.stdout!)
    await once(shell.stdout!, 'data')
    shell.kill('SIGKILL')
    expect(await output).toContain('told')
  })
})

describe('process lock', () => {
  it('is taken over from a process that died, by exactly one of many', async () => {
    await using folder = await clone('')
    const lock = join(folder.path, 'a.lock')
    await writeFile(lock, JSON.stringify({ pid: process.pid, born: 'another life' }))
    const code = `import { takeLock } from './scripts/processes/process-lock.mjs'
      const lock = takeLock(process.argv[1])
      console.log('release' in lock ? 'taken' : 'held')
      process.stdin.resume() // lives, and with it the lock, until the race is over`
    const racers = Array.from({ length: 6 }, () =>
      spawn(process.execPath, ['--input-type=module', '-e', code, lock], { cwd: folder.path, stdio: 'pipe' }),
    )
    const outcomes = await Promise.all(racers.map(async ({ stdout }) => String((await once(stdout, 'data'))[0]).trim()))
    for (const racer of racers) racer.stdin.end()
    expect(outcomes.sort()).toEqual(['held', 'held', 'held', 'held', 'held', 'taken'])
  })
})
