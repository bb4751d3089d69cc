import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { NOT_TO_BE_HAD } from '../../../scripts/test/tally.ts'

const run = promisify(execFile)
const REPOSITORY = join(import.meta.dirname, '../../..')

/** Release 0.1.0 where its tag is missing: the commit with this subject, because subjects survive a rebase. */
const FIRST_RELEASE = {
  tag: 'v0.1.0',
  subject:
    'Stored tokens are checked by the signature code that there is, and broken requests leave the next one an answer in time',
} as const

/** Why this clone lacks a commit, for `context.skip`: its history is cut off, or is not the one that the commit is in. */
export async function whyMissing(name: string): Promise<string> {
  const isShallow = (await git('rev-parse', '--is-shallow-repository').catch(() => 'true')) !== 'false'
  return isShallow
    ? `this clone lacks the commit of ${name}: git fetch --unshallow --tags`
    : `${NOT_TO_BE_HAD}the history of this clone has no ${name}`
}

/** The commit of release 0.1.0. Undefined if this clone does not have it. */
export async function firstRelease(): Promise<string | undefined> {
  const { tag, subject } = FIRST_RELEASE
  const tagged = await commitOf(tag)
  if (tagged !== undefined) return tagged
  const found = await git('log', '-1', '--format=%H', '--fixed-strings', `--grep=${subject}`).catch(() => '')
  return found || undefined
}

/** The commit of the newest release that is not this commit. Undefined if there is none. */
export async function newestRelease(): Promise<string | undefined> {
  const tags = await git('tag', '--list', 'v*', '--sort=-version:refname', '--no-contains', 'HEAD').catch(() => '')
  const newest = tags.split('\n')[0]
  return (newest ? await commitOf(newest) : undefined) ?? (await firstRelease())
}

/** The commit that Git knows by this name. Undefined if there is none. */
export function commitOf(name: string): Promise<string | undefined> {
  return git('rev-parse', '--verify', '--quiet', `${name}^{commit}`).catch(() => undefined)
}

/** Writes the files of a commit into a folder, without Git's own. */
export async function checkOut(commit: string, folder: string): Promise<void> {
  const archive = join(folder, 'tree.tar')
  await git('archive', '--output', archive, commit)
  await run('tar', ['-x', '-f', archive, '-C', folder])
  await rm(archive)
}

async function git(...args: string[]): Promise<string> {
  const { stdout } = await run('git', args, { cwd: REPOSITORY })
  return stdout.trim()
}
