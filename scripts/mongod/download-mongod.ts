// Downloads MongoDB from mongodb.org into a folder, in a process of its own.
import { readdirSync, statSync } from 'node:fs'
import { arch, platform } from 'node:os'
import { join } from 'node:path'
import { MongoBinary } from 'mongodb-memory-server-core'
import { MONGOD_VERSION } from './provision-mongod.mjs'

// find-mongod.ts runs this as a separate process, because a download cannot be cancelled and its library prints
// progress on stdout. The last line of stdout is the path. On failure, the last line of stderr is the reason.

const STALLED_AFTER_MS = 15_000

const folder = process.argv[2] ?? fail('the folder to download into is missing')
let size = 0
let grewAt = Date.now()
setInterval(endWhenStalled, 1_000).unref()

try {
  const binary = await MongoBinary.download({
    version: MONGOD_VERSION,
    downloadDir: folder,
    platform: platform(),
    arch: arch(),
    checkMD5: false, // a pinned SHA-256 is checked afterwards, which is stronger
    systemBinary: '',
    os: { os: 'linux', dist: 'ubuntu', release: '22.04' },
  })
  process.stdout.write(`\n${binary}\n`)
} catch (error) {
  fail(error instanceof Error ? error.message.replaceAll(/\s+/g, ' ') : String(error))
}

function endWhenStalled(): void {
  const now = readdirSync(folder).reduce((sum, name) => sum + sizeOf(join(folder, name)), 0)
  if (now !== size) [size, grewAt] = [now, Date.now()]
  if (Date.now() - grewAt > STALLED_AFTER_MS) fail(`nothing arrived for ${STALLED_AFTER_MS / 1_000} seconds`)
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}

function fail(reason: string): never {
  process.stderr.write(`${reason}\n`)
  process.exit(1)
}
