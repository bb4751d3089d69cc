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
  const { name, command } = tool
  const target = await installOnce({ name, requirements: join(import.meta.dirname, `${name}.txt`) }, env, say)
  return { command: join(target, 'bin', command), env: { ...env, PYTHONPATH: target } }
}

/** A requirements file, and the name of what it pins. */
export interface PinnedPackages {
  readonly name: string
  readonly requirements: string
}

/** Installs packages into a folder of our cache if they are not there yet. Returns the folder, for `PYTHONPATH`. */
export async function installOnce(packages: PinnedPackages, env: NodeJS.ProcessEnv, say: Say): Promise<string> {
  const { name, requirements } = packages
  const pinned = hash('sha256', readFileSync(requirements)).slice(0, 12)
  const target = join(cacheFolder(env), `${name}-${pinned}`)
  if (!existsSync(target)) await withProgress(say, `Installing ${name}`, installFrom(requirements, target))
  return target
}

/**
 * Installs the packages that a requirements file pins. Only wheels are allowed: other packages would run their setup
 * program here.
 */
async function installFrom(requirements: string, target: string): Promise<void> {
  await mkdir(join(target, '..'), { recursive: true })
  const part = await mkdtemp(`${target}-part-`)
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--target', part]
  const pinned = ['--require-hashes', '--only-binary=:all:', '--requirement', requirements]
  await promisify(execFile)('python3', [...pip, ...pinned])
  // The folder always appears complete. If the rename fails, a faster process has installed the same.
  await rename(part, target).catch(() => rm(part, { recursive: true }))
}
