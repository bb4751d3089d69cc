import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { availableParallelism, cpus, release, totalmem, type } from 'node:os'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..', '..')
const LIBRARIES = ['express', 'koa', 'mongodb', 'stripe'] as const

/** What the figures depend on: the machine, the versions of everything that took part, the commit. */
export interface Machine {
  readonly processor: string
  readonly cores: number
  readonly memoryGib: number
  readonly system: string
  /** Of each program and library. */
  readonly versions: Readonly<Record<string, string>>
  /** Null in a copy without its history. */
  readonly commit: string | null
}

/** Looks at the machine that this process runs on. */
export function describeMachine(mongodVersion: string): Machine {
  return {
    processor: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    memoryGib: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release().split('-', 1)[0]}`, // the rest is specific to the build
    versions: {
      node: process.versions.node,
      mongod: mongodVersion,
      ...Object.fromEntries(LIBRARIES.map((name) => [name, versionOf(name)])),
    },
    commit: commit(),
  }
}

/** The machine in one sentence, without its full stop. */
export function machineSentence({ processor, cores, memoryGib, system, versions, commit }: Machine): string {
  const named = Object.entries(versions).map(([name, version]) => `${name} ${version}`)
  const code = commit === null ? 'a copy without history' : `commit ${commit}`
  return `${processor}, ${cores} cores, ${memoryGib} GiB, ${system}; ${named.join(', ')}; ${code}`
}

function versionOf(library: string): string {
  return JSON.parse(readFileSync(join(ROOT, 'node_modules', library, 'package.json'), 'utf8')).version
}

function commit(): string | null {
  try {
    const git = (...args: string[]) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: 'pipe' }).trim()
    return `${git('rev-parse', '--short', 'HEAD')}${git('status', '--porcelain', 'packages') === '' ? '' : ', changed'}`
  } catch {
    return null // a copy without its history
  }
}
