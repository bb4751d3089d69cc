import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { publint } from 'publint'
import { packFolder } from '../../scripts/packages/pack-folder.ts'
import { withoutNpm } from './without-npm.ts'

const run = promisify(execFile)

/** A project in which a packed package is installed, and nothing else. */
export interface ProjectWithPackage extends AsyncDisposable {
  readonly folder: string
  /** The path of the tarball. */
  readonly tarball: string
  readonly unpackedBytes: number
}

const MODULES = resolve(import.meta.dirname, '../../node_modules')

/**
 * Packs a package that is installed here, and returns the path of the tarball. npm 10 would run its script `prepare`,
 * whose files are not published.
 */
export async function packInstalled(name: string, destination: string): Promise<string> {
  const folder = join(MODULES, name)
  const file = join(destination, `${name.replace('/', '-')}.tgz`)
  await run('tar', ['-czf', file, '--exclude', 'node_modules', '-C', dirname(folder), basename(folder)])
  return file
}

/**
 * Builds a package, packs it with npm, and installs the tarball into an empty project without a network. Its
 * dependencies come from the packages that are installed here, by name, or are built too.
 */
export async function installPackage(
  build: (folder: string) => Promise<void>,
  dependencies: readonly (string | ((folder: string) => Promise<void>))[] = [],
): Promise<ProjectWithPackage> {
  const root = await mkdtemp(join(tmpdir(), 'oncehook-package-'))
  const folder = join(root, 'project')
  await build(join(root, 'built'))
  const { file, unpackedBytes } = await packFolder(join(root, 'built'), root)
  const others = await Promise.all(
    dependencies.map(async (one, index) => {
      if (typeof one === 'string') return packInstalled(one, root)
      const source = join(root, `dependency-${index}`)
      await one(source)
      return (await packFolder(source, root)).file
    }),
  )
  const files = [file, ...others]
  await mkdir(folder)
  await writeFile(join(folder, 'package.json'), '{ "name": "project", "private": true }\n')
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', ...files], {
    cwd: folder,
    env: withoutNpm(process.env),
  })
  return { ...{ folder, tarball: file, unpackedBytes }, [Symbol.asyncDispose]: () => rm(root, { recursive: true }) }
}

/** What publint and Are The Types Wrong object to in a packed package. */
export async function findPackageProblems(file: string): Promise<readonly unknown[]> {
  const tarball = await readFile(file)
  const { messages } = await publint({ pack: { tarball: new Uint8Array(tarball).buffer } })
  const analysis = await checkPackage(createPackageFromTarballData(tarball))
  // TypeScript 7 no longer has this resolution. Before, it was for Node.js 10.
  const isOld = (problem: object): boolean => 'resolutionKind' in problem && problem.resolutionKind === 'node10'
  return [...messages, ...(analysis.types === false ? ['no types'] : analysis.problems.filter((one) => !isOld(one)))]
}
