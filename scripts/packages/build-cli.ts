import { chmod, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { bundle } from './bundle.ts'
import { writePackage } from './write-package.ts'

const PROGRAM = 'oncehook.mjs'

/** Builds `@oncehook/cli` as it is published, in an empty folder: one program that depends on no other package. */
export async function buildCli(repository: string, folder: string): Promise<void> {
  const source = join(repository, 'packages/cli')
  await mkdir(join(folder, 'dist'), { recursive: true })
  const older = JSON.stringify(join(import.meta.dirname, 'older-node.ts'))
  const contained = await bundle(
    { code: `#!/usr/bin/env node\nimport ${older}\nimport './src/main.ts'`, folder: source },
    { dir: join(folder, 'dist'), format: 'es', entryFileNames: PROGRAM, chunkFileNames: '[name]-[hash].mjs' },
  )
  await chmod(join(folder, 'dist', PROGRAM), 0o755)
  const fields = { engines: { node: '>=20.15' }, bin: { oncehook: `./dist/${PROGRAM}` } }
  await writePackage(repository, { source, folder, contained, fields })
}
