import { execFile } from 'node:child_process'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { z } from 'zod'
import { DESCRIPTIONS } from '../contracts/release-files.ts'

const vectorFile = z.object({ scheme: z.string(), cases: z.array(z.looseObject({ why: z.string() })) })

/** Writes all vectors to one file, in the format of `contracts/vectors/README.md`. */
export async function writeVectorsFile(repository: string, file: string): Promise<void> {
  const folder = join(repository, 'contracts/vectors')
  const names = (await readdir(folder)).filter((name) => name.endsWith('.json')).toSorted()
  const schemes = await Promise.all(
    names.map(async (name) => {
      const { scheme, cases } = vectorFile.parse(JSON.parse(await readFile(join(folder, name), 'utf8')))
      return { scheme, cases }
    }),
  )
  await writeFile(file, `${JSON.stringify({ format: 1, schemes })}\n`)
}

/**
 * Writes the JSON Schemas of every request and answer of the internal procedures to one file, with the version of the
 * release: `{ format: 1, version, dialect, providers: { <provider>: { procedures, errors } } }`.
 */
export async function writeSchemasFile(repository: string, file: string): Promise<void> {
  const { version } = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8')) as { version: string }
  const described = Object.entries(DESCRIPTIONS).map(([provider, describe]) => [provider, describe()])
  const dialect = 'https://json-schema.org/draft/2020-12/schema'
  await writeFile(
    file,
    `${JSON.stringify({ format: 1, version, dialect, providers: Object.fromEntries(described) })}\n`,
  )
}

interface LockedPackage {
  readonly version?: string
  readonly dev?: boolean
  readonly optional?: boolean
  readonly devOptional?: boolean
}

const PLACE = 'node_modules/'

/**
 * Writes a list of the packages that the services run, from the lock file, in CycloneDX format. `npm sbom --omit=dev` would
 * leave out what development needs too, such as the database driver.
 */
export async function writeSbom(repository: string, file: string): Promise<void> {
  const flags = ['--sbom-format', 'cyclonedx', '--sbom-type', 'application', '--package-lock-only']
  const { stdout } = await promisify(execFile)('npm', ['sbom', ...flags], { cwd: repository, maxBuffer: 100_000_000 })
  const lock = JSON.parse(await readFile(join(repository, 'package-lock.json'), 'utf8'))
  const packages = Object.entries(lock.packages as Record<string, LockedPackage>)
  const needed = packages.filter(([path, one]) => path.includes(PLACE) && !one.dev && !one.optional && !one.devOptional)
  const names = needed.map(([path, { version }]) => `${path.slice(path.lastIndexOf(PLACE) + PLACE.length)}@${version}`)
  const kept = new Set(names)
  const { components, dependencies, ...list } = JSON.parse(stdout) as {
    components: { 'bom-ref': string }[]
    dependencies: { ref: string; dependsOn?: string[] }[]
  }
  const all = {
    ...list,
    components: components.filter((component) => kept.has(component['bom-ref'])),
    dependencies: dependencies
      .filter(({ ref }) => kept.has(ref))
      .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((one) => kept.has(one)) })),
  }
  await writeFile(file, `${JSON.stringify(all, null, 2)}\n`)
}
