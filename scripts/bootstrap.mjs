// Plain JavaScript for any Node >= 20. Installs the packages of the lock file if they are missing or out of date, then
// runs the given script under Node 24. Prints messages to stderr only, because stdout belongs to the script.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { basename, delimiter, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { takeLock } from './processes/process-lock.mjs'

const OLDEST_NODE = [24, 12] // the first version with stable type stripping

// npm takes half a minute to undo an incomplete installation. That is not needed, because the next installation starts
// with a clean folder.
const ROLLBACK_MS = 1_000

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const terminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY

await installWhenStale()
await runUnderNode24(process.argv.slice(2))

async function installWhenStale() {
  let waiting = false
  while (isStale()) {
    const lock = takeLock(join(root, '.data', 'install.lock'))
    if ('release' in lock) {
      try {
        if (isStale()) await install()
      } finally {
        lock.release()
      }
      return
    }
    if (!waiting) say(`Waiting for process ${lock.heldBy}, which is installing the dependencies of this folder …`)
    waiting = true
    await sleep(200)
  }
}

function isStale() {
  const installed = join(root, 'node_modules', '.package-lock.json') // npm writes it last
  return !existsSync(installed) || statSync(installed).mtimeMs < statSync(join(root, 'package-lock.json')).mtimeMs
}

async function install() {
  say('Installing the dependencies (npm ci; about a minute the first time) …')
  const started = Date.now()
  // `npm run` sets this. Another package manager may set it too, but does not understand `ci`.
  const npm = basename(process.env.npm_execpath ?? '').startsWith('npm') ? process.env.npm_execpath : undefined
  const chooser = join(root, 'scripts', 'choose-for-node-24.cjs')
  const [command, ...first] = npm ? [process.execPath, '--require', chooser, npm] : ['npm']
  const child = spawn(command, [...first, 'ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    env: withoutOuterNpm(process.env),
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const { code, error, interrupted } = await ended(child, ROLLBACK_MS)
  if (interrupted) return stop('The installation was stopped; the next command starts it again', 130)
  if (error) return stop(`npm cannot be started: ${error.message}`)
  if (code !== 0) return stop('npm ci failed; the reason is above. Fix it, then give the same command again')
  say(`Installed the dependencies in ${Math.round((Date.now() - started) / 1000)} s`)
}

/**
 * The environment without the variables of an outer `npm run --omit=… -w …`, which must not affect this installation.
 * @param {NodeJS.ProcessEnv} env
 */
function withoutOuterNpm(env) {
  const outer =
    /^npm_(config_(omit|include|workspaces?|ignore_scripts|global|dry_run|production)$|lifecycle_|package_|command)/i
  return Object.fromEntries(Object.entries(env).filter(([name]) => !outer.test(name)))
}

/** @param {string[]} args */
async function runUnderNode24(args) {
  const node = findNode24()
  const path = [dirname(node), join(root, 'node_modules', '.bin'), process.env.PATH].join(delimiter)
  // Node caches its compiled, type-stripped code, which halves the time of every start. npm ci clears the cache.
  const cache = process.env.NODE_COMPILE_CACHE || join(root, 'node_modules', '.cache', 'compiled')
  const env = { ...process.env, PATH: path, NODE_COMPILE_CACHE: cache }
  const child = spawn(node, args, { cwd: root, stdio: 'inherit', env })
  const { code, signal, error } = await ended(child)
  if (error) return stop(`${node} cannot be started: ${error.message}`)
  if (signal) process.kill(process.pid, signal)
  else process.exitCode = code ?? 1
}

/**
 * Waits for the child and forwards every signal that would end this process. The child also ends when npm is killed.
 * With `patienceMs`, a child that was asked to end is killed after that time.
 * @param {import('node:child_process').ChildProcess} child
 * @param {number} [patienceMs]
 * @returns {Promise<{ code?: number | null, signal?: NodeJS.Signals | null, error?: Error, interrupted: boolean }>}
 */
async function ended(child, patienceMs) {
  const parent = process.ppid
  let interrupted = false
  /** @param {NodeJS.Signals} signal */
  const onSignal = (signal) => {
    if (!interrupted && patienceMs !== undefined) setTimeout(() => child.kill('SIGKILL'), patienceMs).unref()
    interrupted = true
    if (signal !== 'SIGINT' || !terminal) child.kill(signal) // the terminal sends Ctrl-C to the child too
  }
  const orphaned = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(orphaned) // a second SIGTERM would ask the child to hurry
    onSignal('SIGTERM')
  }, 500).unref()
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal).on('SIGHUP', onSignal)
  try {
    return await new Promise((resolve) => {
      child.on('error', (error) => resolve({ error, interrupted }))
      child.on('exit', (code, signal) => resolve({ code, signal, interrupted }))
    })
  } finally {
    clearInterval(orphaned)
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal).off('SIGHUP', onSignal)
  }
}

function findNode24() {
  if (isRecent(process.versions.node)) return process.execPath
  const platform = `${process.platform}-${process.arch}`
  const bundled = join(root, 'node_modules', `node-${platform}`, 'bin', 'node')
  const version = spawnSync(bundled, ['-p', 'process.versions.node'], { encoding: 'utf8' })
  if (version.status === 0 && isRecent(version.stdout.trim())) return bundled
  const wanted = `Node.js ${OLDEST_NODE.join('.')} or newer runs Oncehook, this is ${process.versions.node}`
  const reason = version.error
    ? `npm has none for ${platform}`
    : `the one that npm installed does not run on this machine`
  return stop(`${wanted}, and ${reason}. Install Node.js 24 (https://nodejs.org) and try again`)
}

/** @param {string} version */
function isRecent(version) {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_NODE
  return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)
}

/** @param {string} line */
function say(line) {
  process.stderr.write(`${line}\n`)
}

/**
 * @param {string} reason
 * @param {number} [code]
 * @returns {never}
 */
function stop(reason, code = 1) {
  say(reason)
  process.exit(code)
}
