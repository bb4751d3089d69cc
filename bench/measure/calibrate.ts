import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { join } from 'node:path'

/** How long fixed pieces of work took: one for the processor, one for the disk. */
export interface Calibration {
  readonly processorMs: number
  readonly diskMs: number
}

const HASHED = Buffer.alloc(1024 * 1024)
const HASHES = 200
const BLOCK = Buffer.alloc(4096, 1)
const SYNCS = 200

/** Does the fixed work once: hashing, then small writes that are each synchronised to the disk under `folder`. */
export async function calibrate(folder: string): Promise<Calibration> {
  const began = performance.now()
  const hash = createHash('sha256')
  for (let count = 0; count < HASHES; count += 1) hash.update(HASHED)
  hash.digest()
  const processorMs = performance.now() - began
  return { processorMs, diskMs: await syncs(join(folder, 'calibration')) }
}

async function syncs(path: string): Promise<number> {
  await using file = await open(path, 'w')
  const began = performance.now()
  for (let count = 0; count < SYNCS; count += 1) {
    await file.write(BLOCK)
    await file.datasync()
  }
  return performance.now() - began
}
