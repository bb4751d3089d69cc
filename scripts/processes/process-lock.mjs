// Plain JavaScript for any Node >= 20: bootstrap.mjs needs it before Node 24 or a library such as `proper-lockfile` is
// installed.
import { execFileSync } from 'node:child_process'
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * @typedef {object} Holder
 * @property {number} pid
 * @property {string | undefined} born when that process started, so that a reused pid is not mistaken for it
 */

/**
 * Takes the lock at `path`, a file that names the process that has the lock. If that process has died, takes the lock
 * from it. Never waits.
 * @param {string} path
 * @returns {{ release: () => void, takenOver: boolean } | { heldBy: number }} the lock, or the id of the live process
 *   that has it
 */
export function takeLock(path) {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, JSON.stringify({ pid: process.pid, born: born(process.pid) }))
  let takenOver = false
  try {
    while (!linked(draft, path)) {
      const holder = readHolder(path)
      if (holder && isAlive(holder)) return { heldBy: holder.pid }
      if (holder) removeStale(path, holder)
      takenOver = true
    }
    return { release: () => rmSync(path, { force: true }), takenOver }
  } finally {
    rmSync(draft, { force: true })
  }
}

/**
 * Whether the process that wrote this lock is still running.
 * @param {Holder} holder
 */
function isAlive(holder) {
  const now = born(holder.pid)
  return now !== undefined && now === holder.born
}

/**
 * The start time of the process with this id, in a form that is only for comparison. Undefined if there is none.
 * @param {number} pid
 * @returns {string | undefined}
 */
export function born(pid) {
  try {
    if (process.platform !== 'linux') {
      return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim()
    }
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ') // the name may contain spaces
    return fields[0] === 'Z' ? undefined : fields[19] // proc(5): state, and starttime, which is field 22
  } catch {
    return undefined
  }
}

/**
 * @param {string} draft
 * @param {string} path
 */
function linked(draft, path) {
  try {
    linkSync(draft, path)
    return true
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'EEXIST') return false
    throw error
  }
}

/**
 * @param {string} path
 * @returns {Holder | undefined}
 */
function readHolder(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    if (error instanceof SyntaxError) return { pid: 0, born: undefined } // not written by us: treat it as dead
    return undefined
  }
}

/**
 * @param {string} path
 * @param {Holder} stale
 */
function removeStale(path, stale) {
  const aside = `${path}.stale.${process.pid}`
  try {
    renameSync(path, aside)
  } catch {
    return // another process was quicker
  }
  const moved = readHolder(aside)
  if (moved && moved.pid !== stale.pid) linked(aside, path) // we moved a new lock: restore it
  rmSync(aside, { force: true })
}
