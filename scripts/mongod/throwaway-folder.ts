import { mkdtemp, readdir, rm, statfs } from 'node:fs/promises'
import { freemem, tmpdir } from 'node:os'
import { join } from 'node:path'
import { born } from '../processes/process-lock.mjs'

// A file system of Linux that is only in memory.
const IN_MEMORY = '/dev/shm'
const PREFIX = 'oncehook-mongod-'
// All tests together have less than 1 GiB of data. A container has 64 MiB here.
const ROOM = 2 * 1024 ** 3

/**
 * Makes an empty folder for the data of a throwaway server. It is in memory if there is room: no write waits for a disk
 * then, and the collections and indexes of one test take a tenth of the time.
 */
export async function throwawayFolder(): Promise<string> {
  if (!(await hasRoom())) return await mkdtemp(join(tmpdir(), PREFIX))
  await removeAbandoned()
  return await mkdtemp(join(IN_MEMORY, `${PREFIX}${process.pid}-${born(process.pid)}-`))
}

async function hasRoom(): Promise<boolean> {
  const system = await statfs(IN_MEMORY).catch(() => undefined)
  return system !== undefined && system.bavail * system.bsize >= ROOM && freemem() >= 2 * ROOM
}

/** Gives back the memory of processes that were killed, and so could not remove their folders. */
async function removeAbandoned(): Promise<void> {
  for (const name of await readdir(IN_MEMORY)) {
    if (!name.startsWith(PREFIX)) continue
    const [pid, start] = name.slice(PREFIX.length).split('-')
    if (born(Number(pid)) !== start) await rm(join(IN_MEMORY, name), { recursive: true, force: true })
  }
}
