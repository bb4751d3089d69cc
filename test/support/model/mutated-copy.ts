import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'

/** A change of one text of the sources. */
interface SourceChange {
  /** What is broken, as a sentence without a full stop. */
  readonly breaks: string
  readonly file: string
  /** A text that occurs once in the file, and its replacement. */
  readonly find: string
  readonly replace: string
}

/** A copy of the sources in a separate folder, which tests may break. */
export interface SourceCopy extends AsyncDisposable {
  readonly folder: string
  /** Changes the copy during an attempt, and restores it afterwards. Each change is of another part of the sources. */
  withChanges<T>(changes: readonly SourceChange[], attempt: () => Promise<T>): Promise<T>
}

const COPIED = ['packages', 'contracts', 'scripts', 'test', 'package.json', 'tsconfig.json', 'vitest.config.ts']
const OURS = '@oncehook'

/** Copies the files that the contract tests need. Dependencies are linked. Our own packages come from the copy. */
export async function copySources(repository: string): Promise<SourceCopy> {
  const folder = await mkdtemp(join(tmpdir(), 'oncehook-mutated-'))
  const filter = (path: string): boolean => basename(path) !== 'node_modules'
  for (const name of COPIED) await cp(join(repository, name), join(folder, name), { recursive: true, filter })
  await linkDependencies(repository, folder)
  return {
    folder,
    async withChanges(changes, attempt) {
      const originals = new Map<string, string>()
      try {
        for (const change of changes) {
          const file = join(folder, change.file)
          const source = await readFile(file, 'utf8')
          if (!originals.has(file)) originals.set(file, source)
          await writeFile(file, mutate(source, change))
        }
        return await attempt()
      } finally {
        for (const [file, source] of originals) await writeFile(file, source)
      }
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}

async function linkDependencies(repository: string, folder: string): Promise<void> {
  const installed = join(repository, 'node_modules')
  const links = join(folder, 'node_modules')
  await mkdir(join(links, OURS), { recursive: true })
  const names = (await readdir(installed)).filter((name) => name !== OURS && (!name.startsWith('.') || name === '.bin'))
  await Promise.all(names.map((name) => symlink(join(installed, name), join(links, name))))
  const packages = await readdir(join(folder, 'packages'))
  await Promise.all(packages.map((name) => symlink(join(folder, 'packages', name), join(links, OURS, name))))
}

/** @throws if the text to replace does not occur exactly once, because then the change is out of date */
function mutate(source: string, { breaks, file, find, replace }: SourceChange): string {
  const times = source.split(find).length - 1
  if (times !== 1) throw new Error(`${file} holds ${times} times, not once, what is changed so that ${breaks}: ${find}`)
  return source.replace(find, () => replace)
}
