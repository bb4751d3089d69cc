import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cacheFolder } from '../mongod/provision-mongod.mjs'
import { type Say, withProgress } from '../progress.ts'

/** A tool of the Python Package Index: its package, the one version that is used here, the command that it brings. */
export interface PythonTool {
  readonly name: string
  readonly version: string
  readonly command: string
}

/** A command that is there, and what its environment needs. */
export interface InstalledTool {
  readonly command: string
  readonly env: NodeJS.ProcessEnv
}

/**
 * Installs a tool by pip into our cache when it is not there yet. A folder of its own and no virtual environment: Debian's
 * Python cannot make one without another package.
 */
export async function installPythonTool(tool: PythonTool, env: NodeJS.ProcessEnv, say: Say): Promise<InstalledTool> {
  const target = join(cacheFolder(env), `${tool.name}-${tool.version}`)
  const installed = existsSync(target)
  if (!installed) await withProgress(say, `Installing ${tool.name} ${tool.version}`, install(tool, target))
  return { command: join(target, 'bin', tool.command), env: { ...env, PYTHONPATH: target } }
}

async function install({ name, version }: PythonTool, target: string): Promise<void> {
  await mkdir(join(target, '..'), { recursive: true })
  const part = await mkdtemp(`${target}-part-`)
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--target', part]
  await promisify(execFile)('python3', [...pip, `${name}==${version}`])
  // It only ever arrives whole; whoever was faster installed the same.
  await rename(part, target).catch(() => rm(part, { recursive: true }))
}
