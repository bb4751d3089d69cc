import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cacheFolder } from '../mongod/provision-mongod.mjs'
import { type Say, withProgress } from '../progress.ts'

const VERSION = '4.32.5'

/** A command that is there, and what its environment needs. */
export interface InstalledTool {
  readonly command: string
  readonly env: NodeJS.ProcessEnv
}

/**
 * The one version of schemathesis that our configuration is written for, installed by pip into our cache when it is not there
 * yet. A folder of its own and no virtual environment: Debian's Python cannot make one without another package.
 */
export async function installSchemathesis(env: NodeJS.ProcessEnv, say: Say): Promise<InstalledTool> {
  const target = join(cacheFolder(env), `schemathesis-${VERSION}`)
  if (!existsSync(target)) await withProgress(say, `Installing schemathesis ${VERSION}`, install(target))
  return { command: join(target, 'bin', 'schemathesis'), env: { ...env, PYTHONPATH: target } }
}

async function install(target: string): Promise<void> {
  await mkdir(join(target, '..'), { recursive: true })
  const part = await mkdtemp(`${target}-part-`)
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--target', part]
  await promisify(execFile)('python3', [...pip, `schemathesis==${VERSION}`])
  // It only ever arrives whole; whoever was faster installed the same.
  await rename(part, target).catch(() => rm(part, { recursive: true }))
}
