import { execFile } from 'node:child_process'
import { hash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cacheFolder } from '../mongod/provision-mongod.mjs'
import { type Say, withProgress } from '../progress.ts'

/**
 * A tool from the Python Package Index. `<name>.txt` in this folder pins its version, and every package that it needs
 * with its hashes.
 */
export interface PythonTool {
  readonly name: string
  /** The command that it provides. */
  readonly command: string
}

/** An installed command, and the environment that it needs. */
export interface InstalledTool {
  readonly command: string
  readonly env: NodeJS.ProcessEnv
}

/**
 * Installs a tool with pip into our cache if it is not there yet. pip refuses packages whose hashes are not pinned. The
 * tool has a separate folder instead of a virtual environment, because Debian's Python cannot make one without an extra
 * package.
 */
export async function installPythonTool(tool: PythonTool, env: NodeJS.ProcessEnv, say: Say): Promise<InstalledTool> {
  const requirements = join(import.meta.dirname, `${tool.name}.txt`)
  const pinned = hash('sha256', readFileSync(requirements)).slice(0, 12)
  const target = join(cacheFolder(env), `${tool.name}-${pinned}`)
  const installed = existsSync(target)
  if (!installed) await withProgress(say, `Installing ${tool.name}`, installFrom(requirements, target))
  return { command: join(target, 'bin', tool.command), env: { ...env, PYTHONPATH: target } }
}

/**
 * Installs the packages that a requirements file pins. Only wheels are allowed: other packages would run their setup
 * program here.
 */
export async function installFrom(requirements: string, target: string): Promise<void> {
  await mkdir(join(target, '..'), { recursive: true })
  const part = await mkdtemp(`${target}-part-`)
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--target', part]
  const pinned = ['--require-hashes', '--only-binary=:all:', '--requirement', requirements]
  await promisify(execFile)('python3', [...pip, ...pinned])
  // The folder always appears complete. If the rename fails, a faster process has installed the same.
  await rename(part, target).catch(() => rm(part, { recursive: true }))
}
