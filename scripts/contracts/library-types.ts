// The types of the packed libraries as a contract. `contracts/libraries/<name>.txt` has the declarations of every module that an
// entry reaches, without comments: what a program that uses the library is compiled against. The compiler compares them with those
// of now. A program breaks if an export is gone, if a value cannot take the place of the recorded one, or if a type has lost a
// member. What is added breaks nothing. (@microsoft/api-extractor reports every change, so each would need a person to look.)
import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { mkdir, mkdtempDisposable, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { entriesOf } from '../packages/build-library.ts'
import { withoutComments, writeTypes } from '../packages/write-types.ts'

const OTHER_TYPES = 'its members have other types'

export const LIBRARIES = ['handler', 'webhooks'] as const

/** The declarations of a library as they would be packed now: its files, one after the other. */
async function declareLibrary(repository: string, library: string): Promise<string> {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'oncehook-library-'))
  const entries = await entriesOf(join(repository, 'packages', library))
  const sources = entries.map(({ name, path }) => [name, join(library, path)] as const)
  await writeTypes(repository, { entries: new Map(sources), folder: folder.path })
  const paths = globSync('**/*.d.cts', { cwd: folder.path }).toSorted()
  const texts = await Promise.all(paths.map((path) => readFile(join(folder.path, path), 'utf8')))
  // What is private, and what no program can name, makes two declarations of one type differ.
  const open = texts.map((text) =>
    withoutComments(text).replaceAll(/^\s*(?:#private|private .*|readonly \[\w+\]: .*);\n/gm, ''),
  )
  return paths.map((path, index) => `### ${path}\n${open[index]}`).join('')
}

function filesIn(declared: string): ReadonlyMap<string, string> {
  const parts = declared.split(/^### (.+)\n/m).slice(1)
  return new Map(parts.flatMap((path, index) => (index % 2 === 0 ? [[path, parts[index + 1] ?? '']] : [])))
}

interface Exported {
  readonly entry: string
  readonly name: string
  readonly isType: boolean
}

function exportsIn(files: ReadonlyMap<string, string>): Exported[] {
  return [...files].flatMap(([entry, text]) => {
    if (entry.includes('/')) return []
    const [, module = ''] = /'\.\/(.+)\.cjs'/.exec(text) ?? []
    const declared = files.get(`${module}.d.cts`) ?? ''
    const own = declared.matchAll(/^export (?:declare )?(interface|type|class|function|const) (\w+)/gm)
    const others = declared.matchAll(/^export (type )?\{([^}]*)\}/gm)
    return [
      ...Array.from(own, ([, kind = '', name = '']) => ({ entry, name, isType: /^[it]/.test(kind) })),
      ...Array.from(others).flatMap(([, type, names = '']) =>
        Array.from(names.matchAll(/(type )?(?:\w+ as )?(\w+)(?:,|\s|$)/g), ([, own, name = '']) => ({
          ...{ entry, name, isType: (type ?? own) !== undefined },
        })),
      ),
    ]
  })
}

// The compiler lets a method and a constructor take less than before. It does not if they are written as functions. Each side has its
// own types for that: of two that come from one, the compiler would compare what they are made of.
const STRICT = ['Was', 'Now'].map(
  (side) => `
type Strict${side}<T> = T extends new (...given: infer Given) => infer Made
  ? new (...given: Given) => Members${side}<Made>
  : T extends (...given: infer Given) => infer Result
    ? (...given: Given) => Result extends Promise<unknown> ? Result : Members${side}<Result>
    : T
type Members${side}<T> = {
  [Name in keyof T]: T[Name] extends (...given: infer Given) => infer Result ? (...given: Given) => Result : T[Name]
}`,
)
const KEPT = `type Kept<Was, Now> = [Now] extends [Was] ? true : [Was] extends [Now] ? true : '${OTHER_TYPES}'`

/** Statements that compile if a program that uses the recorded export still does. */
function statementFor({ entry, name, isType }: Exported, recorded: string): string {
  const from = (side: string): string => `import('./${side}/${entry.replace('.d.cts', '.cjs')}')`
  if (!isType) {
    const [was, now] = [`typeof ${from('was')}.${name}`, `typeof ${from('now')}.${name}`]
    return `(null! as ${now}) satisfies ${was};(null! as StrictNow<${now}>) satisfies StrictWas<${was}>`
  }
  const [, parameters] = new RegExp(`(?:interface|type) ${name}<((?:[^<>]|<[^<>]*>)*)>`).exec(recorded) ?? []
  const count = parameters?.replaceAll(/<[^<>]*>/g, '').split(',').length ?? 0
  const any = count === 0 ? '' : `<${Array.from({ length: count }, () => 'any').join(', ')}>`
  const [was, now] = [`${from('was')}.${name}${any}`, `${from('now')}.${name}${any}`]
  return `void (null! as keyof ${was} satisfies keyof ${now});(null! as Kept<MembersWas<${was}>, MembersNow<${now}>>) satisfies true`
}

/** What a program that was compiled against the recorded declarations would miss in those of now, as sentences. */
export async function libraryBreaks(repository: string, recorded: string, present: string): Promise<string[]> {
  // Here, so that the compiler finds the packages that the declarations import.
  const parent = join(repository, 'node_modules/.cache')
  await mkdir(parent, { recursive: true })
  await using folder = await mkdtempDisposable(join(parent, 'library-'))
  const before = filesIn(recorded)
  for (const [side, files] of Object.entries({ was: before, now: filesIn(present) })) {
    for (const [path, text] of files) {
      await mkdir(dirname(join(folder.path, side, path)), { recursive: true })
      await writeFile(join(folder.path, side, path), text)
    }
  }
  const exported = exportsIn(before)
  const statements = exported.map((one) => `;${statementFor(one, recorded)}`)
  await writeFile(join(folder.path, 'check.mts'), [...statements, ...STRICT, KEPT].join('\n'))
  const found = await compile(repository, folder.path)
  const breaks = found.map(({ line, problem }) => {
    const { entry, name } = exported[line - 1] ?? { entry: 'the check', name: String(line) }
    return `- ${name} of ${entry.replace('.d.cts', '')}: ${problem}`
  })
  return [...new Set(breaks)]
}

async function compile(repository: string, folder: string): Promise<{ line: number; problem: string }[]> {
  const config = {
    extends: join(repository, 'tsconfig.json'),
    compilerOptions: { typeRoots: [join(repository, 'node_modules/@types')] },
    ...{ files: ['check.mts'], include: [], exclude: [] },
  }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config))
  const run = [join(repository, 'node_modules/typescript/bin/tsc'), '--pretty', 'false', '--project', folder]
  const told = await new Promise<string>((ended) => execFile(process.execPath, run, (_, stdout) => ended(stdout)))
  const problems = told.split(/^(?=\S)/m).filter((text) => text.trim() !== '')
  return problems.map((text) => {
    const [, line, message = text] = /check\.mts\((\d+),\d+\): error \w+: (.*)/s.exec(text) ?? []
    const lines = message
      .replaceAll(/import\("[^"]*"\)\./g, '')
      .trim()
      .split('\n')
    const isGone = /no exported member|does not exist on type 'typeof import/.test(message)
    // The compiler goes from the whole to the member at fault.
    const reason = lines.length === 1 ? lines[0] : `${lines[0]} ${lines.at(-1)?.trim()}`
    const problem = message.includes(OTHER_TYPES) ? OTHER_TYPES : String(reason)
    return { line: Number(line), problem: isGone ? 'it is no longer exported' : problem }
  })
}

/**
 * Compares a library with its committed declarations, and with those of the releases. Resolves to its declarations.
 * @throws with every break
 */
export async function demandLibrary(repository: string, library: string): Promise<string> {
  const contracts = join(repository, 'contracts')
  const present = await declareLibrary(repository, library)
  for (const name of globSync([`libraries/${library}.txt`, `releases/*/libraries/${library}.txt`], {
    cwd: contracts,
  })) {
    const breaks = await libraryBreaks(repository, await readFile(join(contracts, name), 'utf8'), present)
    if (breaks.length === 0) continue
    const who = `@oncehook/${library} breaks the programs that are compiled against it (contracts/${name}):`
    throw new Error([who, ...breaks, 'If they must break, record it: UPDATE_CONTRACTS=1 npm run fix'].join('\n'))
  }
  return present
}

/**
 * Records the declarations of now.
 * @throws if they break the recorded ones, unless `mayBreak`
 */
export async function recordLibraries(repository: string, mayBreak: boolean): Promise<void> {
  for (const library of LIBRARIES) {
    const present = await (mayBreak ? declareLibrary : demandLibrary)(repository, library)
    await writeFile(join(repository, 'contracts/libraries', `${library}.txt`), present)
  }
}
