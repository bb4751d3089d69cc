import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** The oldest MongoDB that Oncehook supports. */
const OLDEST_MONGOD = '6.0'

/** Reads the version from the output of `mongod --version` (`db version v6.0.5`). Undefined if there is none. */
function parseMongodVersion(output: string): string | undefined {
  return /^\s*db version v(\d+\.\d+\.\d+)/m.exec(output)?.[1]
}

/**
 * Runs `mongod --version` and returns the version. A server that lacks a library, is for another machine or is too old
 * does not count as found: throws an error whose message is the reason.
 */
export async function probeMongod(binary: string): Promise<string> {
  const version = parseMongodVersion(await printVersion(binary))
  if (version === undefined) throw new Error('it does not say which version of mongod it is')
  if (Number.parseInt(version, 10) < Number.parseInt(OLDEST_MONGOD, 10)) {
    throw new Error(`it is version ${version}, but ${OLDEST_MONGOD} is the oldest supported one`)
  }
  return version
}

async function printVersion(binary: string): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(binary, ['--version'], { timeout: 30_000 })
    return stdout
  } catch (error) {
    throw new Error(`it does not run: ${reasonOf(error)}`, { cause: error })
  }
}

function reasonOf(error: unknown): string {
  const { code, signal, stderr } = error as { code?: unknown; signal?: unknown; stderr?: string }
  if (code === 'ENOENT') return 'there is no such file'
  if (code === 'EACCES') return 'it is not an executable file'
  if (signal === 'SIGILL') return 'this processor lacks an instruction set that it needs (AVX)'
  return stderr?.trim().split('\n').at(-1) || `it ended with ${code ?? signal}`
}
