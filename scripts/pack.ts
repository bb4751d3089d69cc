// Builds the packages for npm and what a release attaches, into dist/: npm run pack.
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { writeSbom, writeSchemasFile, writeVectorsFile } from './packages/attached-files.ts'
import { buildCli } from './packages/build-cli.ts'
import { buildHandler } from './packages/build-handler.ts'
import { buildWebhooks } from './packages/build-webhooks.ts'
import { packFolder } from './packages/pack-folder.ts'

const repository = resolve(import.meta.dirname, '..')
const destination = resolve(process.argv[2] ?? 'dist')
const folder = await mkdtemp(join(tmpdir(), 'oncehook-pack-'))
try {
  await mkdir(destination, { recursive: true })
  for (const build of [buildWebhooks, buildHandler, buildCli]) {
    const built = join(folder, build.name)
    await build(repository, built)
    const { file, unpackedBytes } = await packFolder(built, destination)
    console.log(`${file} (${Math.round(unpackedBytes / 1_000)} kB unpacked)`)
  }
  const files = {
    'webhook-vectors.json': writeVectorsFile,
    'procedure-schemas.json': writeSchemasFile,
    'oncehook.cdx.json': writeSbom,
  }
  for (const [name, write] of Object.entries(files)) {
    await write(repository, join(destination, name))
    console.log(join(destination, name))
  }
} finally {
  await rm(folder, { recursive: true })
}
