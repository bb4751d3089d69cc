import { execFile } from 'node:child_process'
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { TestContext } from 'vitest'
import { checkOut, commitOf, newestRelease, whyMissing } from '../support/releases/release-commit.ts'

const run = promisify(execFile)
const REPOSITORY = join(import.meta.dirname, '../..')

/** The images of an earlier version. */
interface OldImages {
  /** The commit that they are made from; their label says so. */
  readonly commit: string
  readonly gateway: string
  readonly fulfilment: string
}

/**
 * Makes the images of an earlier version with its own dependencies and the current Dockerfile. It is `OLD_REF`, else
 * the newest release tag that is not this commit, else the commit of release 0.1.0. Without history the test is skipped.
 */
export async function oldImages(context: TestContext): Promise<OldImages> {
  const { OLD_REF } = process.env
  const commit = OLD_REF === undefined ? await newestRelease() : await commitOf(OLD_REF)
  if (commit === undefined) return context.skip(await whyMissing(OLD_REF ?? 'release 0.1.0'))
  const tag = `old-${commit.slice(0, 12)}`
  await using resources = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'oncehook-old-'))
  resources.defer(() => rm(folder, { recursive: true, force: true }))
  await prepare(commit, folder)
  const env = { ...process.env, REVISION: commit }
  await run('bash', ['docker/build.sh', tag, 'gateway', 'fulfilment'], { cwd: folder, env })
  const prefix = process.env.IMAGE_PREFIX ?? 'oncehook-local'
  return { commit, gateway: `${prefix}/gateway:${tag}`, fulfilment: `${prefix}/fulfilment:${tag}` }
}

/** Writes the tree of a commit, with the current `docker/`. */
async function prepare(commit: string, folder: string): Promise<void> {
  await checkOut(commit, folder)
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
