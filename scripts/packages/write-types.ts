import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** Which types are written, and where. */
export interface TypesOutput {
  /** The names of the entries, and their sources relative to the folder `packages`. */
  readonly entries: ReadonlyMap<string, string>
  readonly folder: string
  /** The name of the last entry, if the modules that only it needs should have no comments. */
  readonly terse?: string
}

/**
 * Writes the types of the entries for both formats, with only the modules that they need. Declarations that are marked
 * as internal are left out.
 */
export async function writeTypes(repository: string, { entries, folder, terse }: TypesOutput): Promise<void> {
  const emitted = await mkdtemp(join(tmpdir(), 'oncehook-types-'))
  try {
    await emit(repository, { sources: [...entries.values()], folder: emitted })
    await mkdir(join(folder, 'types'))
    const modules = new Set<string>()
    for (const [name, entry] of entries) {
      const known = new Set(modules)
      const edit = name === terse ? withoutComments : shorten
      for (const module of modules.add(entry)) {
        if (known.has(module)) continue
        const { text, imported } = await readTypes(emitted, module)
        for (const other of imported) modules.add(other)
        await writeFile(join(folder, 'types', `${nameOf(module)}.d.cts`), edit(text))
      }
    }
    await writeEntries(entries, folder)
  } finally {
    await rm(emitted, { recursive: true })
  }
}

async function writeEntries(entries: TypesOutput['entries'], folder: string): Promise<void> {
  for (const [name, module] of entries) {
    const text = `export * from './types/${nameOf(module)}.cjs'\n`
    await Promise.all(['d.cts', 'd.mts'].map((type) => writeFile(join(folder, `${name}.${type}`), text)))
  }
}

/** Indents with tabs, because a third of the declarations is whitespace. */
function shorten(text: string): string {
  return text.replaceAll(/^(?: {4})+/gm, (space) => '\t'.repeat(space.length / 4))
}

/** Reads the declarations of a module and the list of its imports. The imports get their names in the package. */
async function readTypes(
  emitted: string,
  module: string,
): Promise<{ readonly text: string; readonly imported: readonly string[] }> {
  const declared = await readFile(join(emitted, module.replace(/\.ts$/, '.d.ts')), 'utf8')
  const imported: string[] = []
  const text = declared.replaceAll(
    /((?:from |import\()['"])((?:\.|@oncehook\/)[^'"]+)/g,
    (_, before: string, from: string) => {
      const other = resolveModule(module, from)
      imported.push(other)
      return `${before}./${nameOf(other)}.cjs`
    },
  )
  return { text, imported }
}

/** The declarations without their comments. */
export function withoutComments(text: string): string {
  return shorten(text.replaceAll(/^ *\/\*\*.*?\*\/\n/gms, ''))
}

/** The module that an import refers to, relative to the folder `packages`. */
function resolveModule(module: string, from: string): string {
  if (from.startsWith('.')) return join(module, '..', from)
  const [, name, path] = /^@oncehook\/(\w+)\/(.+)$/.exec(from) ?? []
  return `${name}/src/${path}.ts`
}

function nameOf(module: string): string {
  return module.replace(/^(?:webhooks|handler)\/src\/|\.ts$/g, '').replaceAll('/', '-')
}

interface Emission {
  readonly sources: readonly string[]
  readonly folder: string
}

async function emit(repository: string, { sources, folder }: Emission): Promise<void> {
  const packages = join(repository, 'packages')
  const config = {
    extends: join(repository, 'tsconfig.json'),
    compilerOptions: {
      ...{ noEmit: false, declaration: true, emitDeclarationOnly: true, stripInternal: true },
      ...{ outDir: folder, rootDir: packages, typeRoots: [join(repository, 'node_modules/@types')] },
    },
    // Included, because nothing is emitted for a workspace that is only imported.
    include: ['http', 'money', 'secrets', 'settings', 'time'].map((room) => join(packages, 'kernel/src', room, '*.ts')),
    exclude: [join(packages, '**/*.test.ts')],
    files: sources.map((source) => join(packages, source)),
  }
  const file = join(folder, 'tsconfig.json')
  await writeFile(file, JSON.stringify(config))
  const tsc = join(repository, 'node_modules/typescript/bin/tsc')
  await promisify(execFile)(process.execPath, [tsc, '--project', file])
}
