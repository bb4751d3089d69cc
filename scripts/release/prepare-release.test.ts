import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FILES_WITH_VERSION, prepareRelease } from './prepare-release.ts'

const repository = resolve(import.meta.dirname, '../..')
const PACKAGES = ['cli', 'console', 'fulfilment', 'gateway', 'kernel', 'queue', 'simulator', 'webhooks']
const MANIFESTS = ['package.json', ...PACKAGES.map((name) => `packages/${name}/package.json`)]

let copy: string
beforeAll(async () => {
  copy = await mkdtemp(join(tmpdir(), 'oncehook-release-'))
  for (const file of [...FILES_WITH_VERSION, ...MANIFESTS, 'package-lock.json']) {
    await mkdir(join(copy, dirname(file)), { recursive: true })
    await cp(join(repository, file), join(copy, file))
  }
  await writeFile(join(copy, 'CHANGELOG.md'), '# Changelog\n\n## 0.1.0 (2026-11-21)\n\n### Changes\n\n- The first.\n')
  await mkdir(join(copy, '.changeset'))
  await cp(join(repository, '.changeset/config.json'), join(copy, '.changeset/config.json'))
})
afterAll(() => rm(copy, { recursive: true }))

interface Manifest {
  readonly version: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

async function readManifest(file: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(copy, file), 'utf8')) as Manifest
}

function ownVersions({ version, dependencies, devDependencies }: Manifest): string[] {
  const all = Object.entries({ ...dependencies, ...devDependencies })
  return [version, ...all.filter(([name]) => name.startsWith('@oncehook/')).map(([, range]) => range)]
}

describe('a release', () => {
  it('without a changeset is refused', async () => {
    await expect(prepareRelease(copy, '2026-12-01')).rejects.toThrow('Nothing to release')
  })

  it('gives all packages one version, and lists its changes in the changelog', async () => {
    const { version: before } = await readManifest('package.json')
    const changesets = {
      'brave-cats-run': "---\n'@oncehook/gateway': minor\n'@oncehook/kernel': patch\n---\n\nEvents can be sorted.\n",
      'calm-dogs-sit': "---\n'@oncehook/webhooks': patch\n---\n\nA header may be empty.\n",
    }
    for (const [name, text] of Object.entries(changesets)) await writeFile(join(copy, `.changeset/${name}.md`), text)

    const version = await prepareRelease(copy, '2026-12-01')

    const [major = '', minor = ''] = before.split('.')
    expect(version).toBe(`${major}.${Number(minor) + 1}.0`)
    for (const file of MANIFESTS) {
      expect([file, ...new Set(ownVersions(await readManifest(file)))]).toEqual([file, version])
    }
    for (const file of FILES_WITH_VERSION) {
      const text = await readFile(join(copy, file), 'utf8')
      expect([file, text.includes(version), text.includes(before)]).toEqual([file, true, false])
    }
    expect(await readFile(join(copy, 'CHANGELOG.md'), 'utf8')).toMatch(
      /\n## (\S+) \(2026-12-01\)\n\n### Changes\n\n- Events can be sorted\.\n\n### Fixes\n\n- A header may be empty\.\n\n## /,
    )
    expect((await readdir(join(copy, '.changeset'))).filter((name) => name.endsWith('.md'))).toEqual([])
  })
})
