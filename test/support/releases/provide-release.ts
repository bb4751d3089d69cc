import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { TestContext } from 'vitest'
import { cacheFolder } from '../../../scripts/mongod/provision-mongod.mjs'
import { withoutNpm } from '../without-npm.ts'
import { checkOut, firstRelease, whyMissing } from './release-commit.ts'

const run = promisify(execFile)
const LONGEST_INSTALL_MS = 180_000
const INSTALL = [
  'ci',
  '--omit=dev',
  '--omit=optional',
  '--ignore-scripts',
  '--prefer-offline',
  '--no-audit',
  '--no-fund',
]

/** The programs of a release, for `ServiceUnderTest`. */
export interface ReleasePrograms {
  readonly gateway: string
  readonly fulfilment: string
}

/**
 * Release 0.1.0 as its users run it: its sources with the packages that its lock file names. They are kept in our cache.
 * Without its commit the test is skipped.
 */
export async function provideFirstRelease(context: TestContext): Promise<ReleasePrograms> {
  const commit = await firstRelease()
  if (commit === undefined) return context.skip(await whyMissing('release 0.1.0'))
  const folder = join(cacheFolder(process.env), 'releases', commit)
  if (!existsSync(folder)) await installTo(folder, commit)
  const main = (service: string): string => join(folder, 'packages', service, 'src/main.ts')
  return { gateway: main('gateway'), fulfilment: main('fulfilment') }
}

async function installTo(folder: string, commit: string): Promise<void> {
  await mkdir(join(folder, '..'), { recursive: true })
  const part = await mkdtemp(`${folder}-part-`)
  try {
    await checkOut(commit, part)
    await run('npm', INSTALL, { cwd: part, env: withoutNpm(process.env), timeout: LONGEST_INSTALL_MS })
  } catch (error) {
    await rm(part, { recursive: true })
    throw error
  }
  // The folder always appears complete. If the rename fails, a faster process has installed the same.
  await rename(part, folder).catch(() => rm(part, { recursive: true }))
}
