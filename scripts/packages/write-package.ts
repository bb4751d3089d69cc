import { copyFile, readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { type Manifest, readManifest } from './manifest.ts'

/** What a published package contains besides its code. */
export interface PublishedPackage {
  /** The workspace that it is made from. */
  readonly source: string
  /** Where it is built. */
  readonly folder: string
  /** The folders of the packages whose code it contains. */
  readonly contained: readonly string[]
  /** The fields of `package.json` that the workspace does not have. */
  readonly fields: Readonly<Record<string, unknown>>
}

/** Writes `package.json`, the README, the licence, and the licences of third-party code. */
export async function writePackage(repository: string, published: PublishedPackage): Promise<void> {
  const { source, folder, contained, fields } = published
  const { name, version, description, license }: Manifest = await readManifest(source)
  const manifest = { name, version, description, license, type: 'module', ...fields, files: ['dist'] }
  const licences = await Promise.all(contained.map(readLicence))
  await Promise.all([
    writeFile(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`),
    ...(licences.length === 0 ? [] : [writeFile(join(folder, LICENCES), `${licences.join('\n\n')}\n`)]),
    copyFile(join(source, 'README.md'), join(folder, 'README.md')),
    copyFile(join(repository, 'LICENSE'), join(folder, 'LICENSE')),
  ])
}

const LICENCES = 'dist/THIRD-PARTY-LICENSES.txt'

async function readLicence(folder: string): Promise<string> {
  const file = (await readdir(folder)).find((name) => /^licen[cs]e/i.test(name))
  const scope = basename(dirname(folder))
  const name = scope.startsWith('@') ? `${scope}/${basename(folder)}` : basename(folder)
  if (file === undefined) throw new Error(`${name} has no licence file`)
  return `${name}\n\n${(await readFile(join(folder, file), 'utf8')).trim()}`
}
