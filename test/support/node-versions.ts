import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { NOT_TO_BE_HAD } from '../../scripts/test/tally.ts'

/**
 * The Node.js binaries that this machine has, by major version: the one that runs the tests, those on the PATH, and those of
 * `NODE_BINARIES`, a list of paths like PATH.
 */
export function findNodeVersions({ PATH = '', NODE_BINARIES = '' }: NodeJS.ProcessEnv): ReadonlyMap<number, string> {
  const named = NODE_BINARIES.split(delimiter).filter((file) => file !== '')
  const onPath = PATH.split(delimiter).map((folder) => join(folder, 'node'))
  const files = [process.execPath, ...named, ...onPath.filter(existsSync)]
  return new Map([...new Set(files)].map((file) => [majorOf(file), file] as const).toReversed())
}

/** Why a test for a version of Node.js is skipped. `.ci/run` installs the versions that the npm registry has. */
export function noNode(major: number): string {
  return `${NOT_TO_BE_HAD}Node.js ${major} is neither on the PATH nor in NODE_BINARIES`
}

function majorOf(file: string): number {
  return Number(execFileSync(file, ['-p', 'process.versions.node'], { encoding: 'utf8' }).split('.')[0])
}
