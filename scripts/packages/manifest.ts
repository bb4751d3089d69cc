import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'

const manifest = z.object({
  ...{ name: z.string(), version: z.string(), description: z.string(), license: z.string() },
  exports: z.record(z.string(), z.string()),
})

/** The fields that are read from the `package.json` of a workspace. */
export type Manifest = z.output<typeof manifest>

/** Reads the `package.json` of a folder. */
export async function readManifest(folder: string): Promise<Manifest> {
  return manifest.parse(JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')))
}
