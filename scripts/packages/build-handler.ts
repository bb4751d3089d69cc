import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { buildLibrary } from './build-library.ts'
import { bundle } from './bundle.ts'
import { readManifest } from './manifest.ts'

// The program uses the driver of the database that its user has: nobody needs both.
const PEERS = { mongodb: '^7.0.0', pg: '^8.11.0' }

/** Builds `@oncehook/handler` as it is published, in an empty folder: the library, and the command that sets a database up. */
export async function buildHandler(repository: string, folder: string): Promise<void> {
  const source = join(repository, 'packages/handler')
  const { version } = await readManifest(source)
  const dependencies = { '@oncehook/webhooks': `^${version}` }
  const external = [...Object.keys(dependencies), ...Object.keys(PEERS)]
  const optional = Object.fromEntries(Object.keys(PEERS).map((name) => [name, { optional: true }]))
  await buildLibrary(repository, folder, {
    ...{ workspace: 'handler', external },
    fields: {
      ...{ dependencies, peerDependencies: PEERS, peerDependenciesMeta: optional },
      bin: { 'oncehook-handler': './dist/init.mjs' },
    },
  })
  const program = join(folder, 'dist/init.mjs')
  await bundle(
    { code: "#!/usr/bin/env node\nimport './src/init/main.ts'", folder: source, external },
    { file: program, format: 'es', codeSplitting: false },
  )
  await chmod(program, 0o755)
}
