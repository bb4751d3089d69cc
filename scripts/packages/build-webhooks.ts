import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bundle } from './bundle.ts'
import { readManifest } from './manifest.ts'
import { writePackage } from './write-package.ts'
import { writeTypes } from './write-types.ts'

// These are dependencies, so their fixes arrive without a new version of ours. Bundling both would double the size.
const DEPENDENCIES = { jose: '^6.2.17', zod: '^4.6.7' }

/** An entry point of the package. */
interface Entry {
  /** As in `exports`: `.` or `./fetch`. */
  readonly subpath: string
  /** The name of its files. */
  readonly name: string
  /** Its source, relative to the folder of the workspace. */
  readonly path: string
}

/**
 * Builds `@oncehook/webhooks` as it is published, in an empty folder.
 *
 * All code is in one minified CommonJS file, which the ES modules re-export: two copies would double the size, and
 * `instanceof` would fail between them.
 */
export async function buildWebhooks(repository: string, folder: string): Promise<void> {
  const source = join(repository, 'packages/webhooks')
  const { exports } = await readManifest(source)
  const entries = Object.entries(exports)
    .filter(([subpath]) => !/^\.\/(?:signing|testing)\//.test(subpath))
    .map(([subpath, path]): Entry => ({ subpath, name: subpath.slice(2) || 'index', path }))
  const dist = join(folder, 'dist')
  await mkdir(dist, { recursive: true })
  const code = entries.map(({ path }) => `export * from '${path}'`).join('\n')
  const contained = await bundle(
    { code, folder: source, external: Object.keys(DEPENDENCIES) },
    { file: join(dist, 'all.cjs'), format: 'cjs', minify: true, codeSplitting: false },
  )
  const sources = entries.map(({ name, path }) => [name, join('webhooks', path)] as const)
  await writeTypes(repository, { entries: new Map(sources), folder: dist, terse: 'providers' })
  await Promise.all(entries.map((entry) => writeEntry(join(source, entry.path), join(dist, entry.name))))
  const fields = {
    sideEffects: false,
    engines: { node: '>=20.15' },
    dependencies: DEPENDENCIES,
    main: './dist/index.cjs',
    types: './dist/index.d.cts',
    exports: {
      ...Object.fromEntries(entries.map(({ subpath, name }) => [subpath, conditionsOf(`./dist/${name}`)])),
      './package.json': './package.json',
    },
  }
  await writePackage(repository, { source, folder, contained, fields })
}

function conditionsOf(path: string): object {
  return {
    import: { types: `${path}.d.mts`, default: `${path}.mjs` },
    require: { types: `${path}.d.cts`, default: `${path}.cjs` },
  }
}

/**
 * Writes the exports of an entry in both formats. It lists the names, because tools read them without running the code.
 */
async function writeEntry(source: string, file: string): Promise<void> {
  const exported: object = await import(source)
  const names = Object.keys(exported)
  const lines = names.map((name) => `exports.${name} = all.${name}`)
  await Promise.all([
    writeFile(`${file}.cjs`, `'use strict'\nconst all = require('./all.cjs')\n${lines.join('\n')}\n`),
    writeFile(`${file}.mjs`, `import all from './all.cjs'\nexport const { ${names.join(', ')} } = all\n`),
  ])
}
