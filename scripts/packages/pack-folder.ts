import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { z } from 'zod'

/** A packed package. */
export interface PackedPackage {
  /** The path of the tarball. */
  readonly file: string
  readonly unpackedBytes: number
}

const report = z.tuple([z.object({ filename: z.string(), unpackedSize: z.number() })])

/** Packs the package in a folder with npm, and writes the tarball to another folder. */
export async function packFolder(folder: string, destination: string): Promise<PackedPackage> {
  const { stdout } = await promisify(execFile)('npm', ['pack', '--json', '--pack-destination', destination], {
    cwd: folder,
  })
  const [{ filename, unpackedSize }] = report.parse(JSON.parse(stdout))
  return { file: join(destination, filename), unpackedBytes: unpackedSize }
}
