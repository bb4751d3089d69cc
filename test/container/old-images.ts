import { execFile } from 'node:child_process'
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { TestContext } from 'vitest'

const run = promisify(execFile)
const REPOSITORY = join(import.meta.dirname, '../..')

/** The previous version until there is a release: the commit with this subject, because subjects survive a rebase. */
const BEFORE_ANY_RELEASE =
  'Real processes prove the way from webhook to receipt: official libraries, fifty copies, kills under load, bad input, orderly stops'

/** The images of an earlier version. */
interface OldImages {
  /** The commit that they are made from; their label says so. */
  readonly commit: string
  readonly gateway: string
  readonly fulfilment: string
}

/**
 * Makes the images of an earlier version with its own dependencies and the current Dockerfile. It is `OLD_REF`, else
 * the newest release tag that is not this commit, else the commit named above. Without history the test is skipped.
 * Returns null if the whole history has one version of the gateway, because nobody can run an earlier one.
 */
export async function oldImages(context: TestContext): Promise<OldImages | null> {
  const ref = process.env.OLD_REF ?? (await newestRelease()) ?? (await beforeAnyRelease())
  if (ref === undefined && (await isFirstVersion())) return null
  const commit = await git('rev-parse', '--verify', '--quiet', `${ref}^{commit}`).catch(() => undefined)
  if (commit === undefined) return context.skip(`this clone lacks the commit ${ref}: git fetch --unshallow --tags`)
  const tag = `old-${commit.slice(0, 12)}`
  await using resources = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'oncehook-old-'))
  resources.defer(() => rm(folder, { recursive: true, force: true }))
  await checkOut(commit, folder)
  const env = { ...process.env, REVISION: commit }
  await run('bash', ['docker/build.sh', tag, 'gateway', 'fulfilment'], { cwd: folder, env })
  const prefix = process.env.IMAGE_PREFIX ?? 'oncehook-local'
  return { commit, gateway: `${prefix}/gateway:${tag}`, fulfilment: `${prefix}/fulfilment:${tag}` }
}

async function beforeAnyRelease(): Promise<string | undefined> {
  const found = await git('log', '-1', '--format=%H', '--fixed-strings', `--grep=${BEFORE_ANY_RELEASE}`).catch(() => '')
  return found || undefined
}

async function isFirstVersion(): Promise<boolean> {
  if ((await git('rev-parse', '--is-shallow-repository').catch(() => 'true')) !== 'false') return false
  return (await git('rev-list', '--count', 'HEAD', '--', 'packages/gateway/src/main.ts')) === '1'
}

async function newestRelease(): Promise<string | undefined> {
  const tags = await git('tag', '--list', 'v*', '--sort=-version:refname', '--no-contains', 'HEAD')
  return tags.split('\n')[0] || undefined
}

/** The tree of a commit, with the current `docker/`. */
async function checkOut(commit: string, folder: string): Promise<void> {
  const archive = join(folder, 'tree.tar')
  await git('archive', '--output', archive, commit)
  await run('tar', ['-x', '-f', archive, '-C', folder])
  await rm(archive)
  await rm(join(folder, 'docker'), { recursive: true, force: true })
  await cp(join(REPOSITORY, 'docker'), join(folder, 'docker'), { recursive: true })
  await cp(join(REPOSITORY, '.dockerignore'), join(folder, '.dockerignore'))
  await forgetPackages(await newPackages(folder), join(folder, 'docker/Dockerfile'))
}

/** The current packages that an earlier tree lacks. */
async function newPackages(folder: string): Promise<string[]> {
  const [present, earlier] = await Promise.all([REPOSITORY, folder].map((root) => readdir(join(root, 'packages'))))
  return (present ?? []).filter((name) => !earlier?.includes(name))
}

/** Drops the lines of a Dockerfile that copy packages which do not exist. */
async function forgetPackages(names: readonly string[], dockerfile: string): Promise<void> {
  const isAbsent = (line: string) => line.startsWith('COPY ') && names.some((name) => line.includes(`packages/${name}`))
  const lines = (await readFile(dockerfile, 'utf8')).split('\n')
  await writeFile(dockerfile, lines.filter((line) => !isAbsent(line)).join('\n'))
}

async function git(...args: string[]): Promise<string> {
  const { stdout } = await run('git', args, { cwd: REPOSITORY })
  return stdout.trim()
}
