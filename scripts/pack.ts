import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { buildCli } from './packages/build-cli.ts'
import { buildHandler } from './packages/build-handler.ts'
import { buildWebhooks } from './packages/build-webhooks.ts'
import { packFolder } from './packages/pack-folder.ts'
import { writeSchemasFile } from './packages/write-schemas-file.ts'
import { writeVectorsFile } from './packages/write-vectors-file.ts'

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
  const vectors = join(destination, 'webhook-vectors.json')
  await writeVectorsFile(repository, vectors)
  console.log(vectors)
  const schemas = join(destination, 'procedure-schemas.json')
  await writeSchemasFile(repository, schemas)
  console.log(schemas)
} finally {
  await rm(folder, { recursive: true })
}
