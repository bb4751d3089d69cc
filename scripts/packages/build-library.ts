import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bundle } from './bundle.ts'
import { readManifest } from './manifest.ts'
import { writePackage } from './write-package.ts'
import { writeTypes } from './write-types.ts'

/** What a package for other programs is built from. */
export interface Library {
  /** The folder of its workspace below `packages`. */
  readonly workspace: string
  /** Packages that are not bundled. */
  readonly external: readonly string[]
  /** The name of the last entry, if the modules that only it needs should have no comments. */
  readonly terse?: string
  /** More fields of its `package.json`. */
  readonly fields: Readonly<Record<string, unknown>>
}

/** An entry point of a package. */
interface Entry {
  /** As in `exports`: `.` or `./fetch`. */
  readonly subpath: string
  /** The name of its files. */
  readonly name: string
  /** Its source, relative to the folder of the workspace. */
  readonly path: string
}

/**
 * Builds a package as it is published, in an empty folder.
 *
 * All code is in one file of each format: esbuild's bundles of ES modules cannot contain CommonJS that requires a module of
 * Node.js, and Node.js before 20.19 and Jest cannot require an ES module. Wherever an ES module can be required, it is (by
 * `module-sync` in Node.js 20.19, 22.12 and later, by `module` in bundlers): a program has each class once, whatever it loads,
 * and `instanceof` holds. Only a program with both formats on an older Node.js has each class twice.
 *
 * The code is not minified: Node.js prints the line of an error, which would be all of it.
 */
export async function buildLibrary(repository: string, folder: string, library: Library): Promise<void> {
  const { workspace, external, terse } = library
  const source = join(repository, 'packages', workspace)
  const entries = await entriesOf(source)
  const dist = join(folder, 'dist')
  await mkdir(dist, { recursive: true })
  const code = entries.map(({ path }) => `export * from '${path}'`).join('\n')
  const bundled = { code, folder: source, external }
  const output = { codeSplitting: false, comments: { annotation: true, jsdoc: false, legal: true } }
  const contained = await bundle(bundled, { ...output, file: join(dist, 'all.cjs'), format: 'cjs' })
  await bundle(bundled, { ...output, file: join(dist, 'all.mjs'), format: 'es' })
  const sources = entries.map(({ name, path }) => [name, join(workspace, path)] as const)
  await writeTypes(repository, { entries: new Map(sources), folder: dist, ...(terse === undefined ? {} : { terse }) })
  await Promise.all(entries.map((entry) => writeEntry(join(source, entry.path), join(dist, entry.name))))
  const fields = {
    sideEffects: false,
    engines: { node: '>=20.15' },
    ...library.fields,
    main: './dist/index.cjs',
    types: './dist/index.d.cts',
    exports: {
      ...Object.fromEntries(entries.map(({ subpath, name }) => [subpath, conditionsOf(`./dist/${name}`)])),
      './package.json': './package.json',
    },
  }
  await writePackage(repository, { source, folder, contained, fields })
}

/** The entries of the published package: not those that only other workspaces use. */
async function entriesOf(workspace: string): Promise<Entry[]> {
  const { exports } = await readManifest(workspace)
  return Object.entries(exports)
    .filter(([subpath]) => !/^\.\/(?:signing|testing)\//.test(subpath))
    .map(([subpath, path]) => ({ subpath, name: subpath.slice(2) || 'index', path }))
}

function conditionsOf(path: string): object {
  const ofModule = { types: `${path}.d.mts`, default: `${path}.mjs` }
  return {
    ...Object.fromEntries(['import', 'module-sync', 'module', 'bun'].map((name) => [name, ofModule])),
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
    writeFile(`${file}.mjs`, `export { ${names.join(', ')} } from './all.mjs'\n`),
  ])
}
