import { execFile } from 'node:child_process'
import { hash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cacheFolder } from '../mongod/provision-mongod.mjs'
import { type Say, withProgress } from '../progress.ts'

/**
 * A tool of the Python Package Index. Its version, and each package that it needs with its hashes, are in `<name>.txt` of
 * this folder.
 */
export interface PythonTool {
  readonly name: string
  /** The command that it brings. */
  readonly command: string
}

/** A command that is there, and what its environment needs. */
export interface InstalledTool {
  readonly command: string
  readonly env: NodeJS.ProcessEnv
}

/**
 * Installs a tool by pip into our cache when it is not there yet; pip refuses what has another hash than the pinned ones. A
 * separate folder and no virtual environment: Debian's Python cannot make one without another package.
 */
export async function installPythonTool(tool: PythonTool, env: NodeJS.ProcessEnv, say: Say): Promise<InstalledTool> {
  const requirements = join(import.meta.dirname, `${tool.name}.txt`)
  const pinned = hash('sha256', readFileSync(requirements)).slice(0, 12)
  const target = join(cacheFolder(env), `${tool.name}-${pinned}`)
  const installed = existsSync(target)
  if (!installed) await withProgress(say, `Installing ${tool.name}`, installFrom(requirements, target))
  return { command: join(target, 'bin', tool.command), env: { ...env, PYTHONPATH: target } }
}

/** Installs what a file of requirements pins, wheels only: the set-up program of a package would run here. */
export async function installFrom(requirements: string, target: string): Promise<void> {
  await mkdir(join(target, '..'), { recursive: true })
  const part = await mkdtemp(`${target}-part-`)
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--target', part]
  const pinned = ['--require-hashes', '--only-binary=:all:', '--requirement', requirements]
  await promisify(execFile)('python3', [...pip, ...pinned])
  // It always arrives complete; a faster process installed the same.
  await rename(part, target).catch(() => rm(part, { recursive: true }))
}
