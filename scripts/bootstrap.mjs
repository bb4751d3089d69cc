// Plain JavaScript for any Node >= 20: installs what the lock file asks for when that is missing, then runs the given
// script under Node 24. Says what it does on stderr only: stdout belongs to the script.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { basename, delimiter, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { takeLock } from './process-lock.mjs'

const OLDEST_NODE = [24, 12] // the first whose type stripping is stable

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
  // Set by `npm run`; another package manager's would not understand `ci`.
  const npm = basename(process.env.npm_execpath ?? '').startsWith('npm') ? process.env.npm_execpath : undefined
  const chooser = join(root, 'scripts', 'choose-for-node-24.cjs')
  const [command, ...first] = npm ? [process.execPath, '--require', chooser, npm] : ['npm']
  const child = spawn(command, [...first, 'ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    env: withoutOuterNpm(process.env),
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const { code, signal, error } = await ended(child)
  if (signal) return stop(`The installation was stopped by ${signal}`)
  if (error) return stop(`npm cannot be started: ${error.message}`)
  if (code !== 0) return stop('npm ci failed; its reason is above. Once that is put right, give the same command again')
  say(`Installed the dependencies in ${Math.round((Date.now() - started) / 1000)} s`)
}

/**
 * The environment without what an outer `npm run --omit=… -w …` put there: it must not steer this installation.
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
  const child = spawn(node, args, { cwd: root, stdio: 'inherit', env: { ...process.env, PATH: path } })
  const { code, signal, error } = await ended(child)
  if (error) return stop(`${node} cannot be started: ${error.message}`)
  if (signal) process.kill(process.pid, signal)
  else process.exitCode = code ?? 1
}

/**
 * Waits for the child and hands it every signal that ends this process; a child never outlives it, not even when npm is
 * killed outright.
 * @param {import('node:child_process').ChildProcess} child
 * @returns {Promise<{ code?: number | null, signal?: NodeJS.Signals | null, error?: Error }>}
 */
async function ended(child) {
  const parent = process.ppid
  const orphaned = setInterval(() => process.ppid === parent || child.kill('SIGTERM'), 500).unref()
  const onInterrupt = () => terminal || child.kill('SIGINT') // a terminal's Ctrl-C reaches the child by itself
  const onTerminate = (/** @type {NodeJS.Signals} */ signal) => child.kill(signal)
  process.on('SIGINT', onInterrupt).on('SIGTERM', onTerminate).on('SIGHUP', onTerminate)
  try {
    return await new Promise((resolve) => {
      child.on('error', (error) => resolve({ error }))
      child.on('exit', (code, signal) => resolve({ code, signal }))
    })
  } finally {
    clearInterval(orphaned)
    process.off('SIGINT', onInterrupt).off('SIGTERM', onTerminate).off('SIGHUP', onTerminate)
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
 * @returns {never}
 */
function stop(reason) {
  say(reason)
  process.exit(1)
}
