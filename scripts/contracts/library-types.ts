// The types of the packed libraries as a contract. `contracts/libraries/<name>.txt` has the declarations of every module that an
// entry reaches: what a program that uses the library is compiled against. The compiler compares them with those of now. A program
// breaks if an export is gone, if a value cannot take the place of the recorded one, or if a type has lost a member; also if a
// default is another one, or what `package.json` says of where it runs and what it needs. What is added breaks nothing.
// (@microsoft/api-extractor reports every change, so each would need a person to look.)
import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { mkdir, mkdtempDisposable, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { buildHandler } from '../packages/build-handler.ts'
import { buildWebhooks } from '../packages/build-webhooks.ts'
import { withoutComments } from '../packages/write-types.ts'

const OTHER_TYPES = 'its members have other types'

const BUILDS = { handler: buildHandler, webhooks: buildWebhooks }
type Library = keyof typeof BUILDS
export const LIBRARIES = Object.keys(BUILDS) as readonly Library[]

/** The declarations of a library as they would be packed now, one after the other, and what its `package.json` says. */
async function declareLibrary(repository: string, library: Library): Promise<string> {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'oncehook-library-'))
  await BUILDS[library](repository, folder.path).catch(({ message, stdout = message }) => {
    throw new Error(`@oncehook/${library} breaks the programs that use it: it cannot be built\n${stdout}`)
  })
  const dist = join(folder.path, 'dist')
  const paths = globSync('**/*.d.cts', { cwd: dist }).toSorted()
  const texts = await Promise.all(paths.map((path) => readFile(join(dist, path), 'utf8')))
  // What is private, and what no program can name, makes two declarations of one type differ.
  const open = texts.map((text) =>
    withoutComments(text).replaceAll(/^\s*(?:#private|private .*|readonly \[\w+\]: .*);\n/gm, ''),
  )
  const { type, engines, main, bin, exports, dependencies, peerDependencies } = JSON.parse(
    await readFile(join(folder.path, 'package.json'), 'utf8'),
  )
  // Not our own: their versions are those of the release.
  const needs = Object.entries({ ...dependencies, ...peerDependencies }).filter(
    ([name]) => !name.startsWith('@oncehook/'),
  )
  const says = { type, engines, main, bin, exports, needs: Object.fromEntries(needs) }
  const sections = paths.map((path, index) => `### ${path}\n${open[index]}`)
  return [...sections, `### ${MANIFEST}\n${JSON.stringify(says).replaceAll('}},"', '}},\n"')}\n`].join('')
}

const MANIFEST = 'package.json'

/** What a program relies on that no compiler sees: the defaults that the declarations name, and each value of the manifest. */
export function factsIn(declared: string): ReadonlyMap<string, string> {
  const { [MANIFEST]: manifest = '{}', ...files } = Object.fromEntries(filesIn(declared))
  const facts = new Map(leavesOf(MANIFEST, JSON.parse(manifest)))
  for (const text of Object.values(files)) {
    let owner = ''
    for (const [, named, value, member] of text.matchAll(DEFAULT)) {
      owner = named ?? owner
      if (value !== undefined) facts.set(`${owner}.${member}`, value.replaceAll(/[`,]/g, ''))
    }
  }
  return facts
}

const DEFAULT =
  /^export (?:declare )?\w+ (\w+)|Default(?: of `\w+`)?: (`[^`]+`|\d(?:[\d,]*\d)?|true|false)(?:(?!\*\/)[\s\S])*\*\/\s+(?:readonly )?(\w+)/gm

function leavesOf(path: string, value: unknown): (readonly [string, string])[] {
  if (typeof value !== 'object' || value === null) return [[path, String(value)]]
  return Object.entries(value).flatMap(([name, inner]) => leavesOf(`${path} ${name}`, inner))
}

const rangesIn = (value: string) => value.split(' || ')

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
    if (entry.includes('/') || entry === MANIFEST) return []
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
      if (path === MANIFEST) continue
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
  const facts = factsIn(present)
  const changed = [...factsIn(recorded)].flatMap(([name, was]) => {
    const now = facts.get(name)
    // That a comment no longer tells a default does not change it, and a range may have grown.
    const isSame =
      now === undefined ? !name.startsWith(MANIFEST) : rangesIn(was).every((one) => rangesIn(now).includes(one))
    return isSame ? [] : [`- ${name}: it was ${was}, and is ${now}`]
  })
  return [...new Set([...breaks, ...changed])]
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
export async function demandLibrary(repository: string, library: Library): Promise<string> {
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
