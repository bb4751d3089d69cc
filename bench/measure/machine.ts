import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { availableParallelism, cpus, release, totalmem, type } from 'node:os'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..', '..')
const LIBRARIES = ['express', 'koa', 'mongodb', 'stripe'] as const

/** What the figures depend on besides the code: the machine and the versions of everything that took part. */
export function describeMachine(mongodVersion: string) {
  return {
    processor: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    memoryGib: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release()}`,
    node: process.versions.node,
    mongod: mongodVersion,
    ...Object.fromEntries(LIBRARIES.map((name) => [name, versionOf(name)])),
    commit: commit(),
  }
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
