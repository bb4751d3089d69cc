import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { readChangesets } from '@changesets/read'
import { addSection, type Bump, type Change, changelogSection, unreleasedChanges } from './changelog-section.ts'

/** Files that contain the current version, besides each `package.json`. */
export const FILES_WITH_VERSION: readonly string[] = [
  'README.md',
  'docker/README.md',
  'docker/compose.yaml',
  'docker/kubernetes/fulfilment.yaml',
  'docker/kubernetes/gateway.yaml',
  'docker/kubernetes/kustomization.yaml',
  'docs/how-to/deploy-kubernetes.md',
  'examples/shop-orders-mongo/package.json',
  'examples/subscriptions-postgres/package.json',
]

const BUMPS: readonly Bump[] = ['major', 'minor', 'patch']

/**
 * Applies the changesets of a repository to the versions of its packages, the files that name the version, and
 * CHANGELOG.md. Resolves to the new version. The caller must update the lock file and record the contracts.
 * @throws if there is no changeset
 */
export async function prepareRelease(repository: string, date: string): Promise<string> {
  const changes = await readChanges(repository)
  if (changes.length === 0) throw new Error('Nothing to release: .changeset has no changeset')
  const before = await versionOf(join(repository, 'package.json'))
  const program = fileURLToPath(import.meta.resolve('@changesets/cli/bin.js'))
  await promisify(execFile)(process.execPath, [program, 'version'], { cwd: repository })
  const version = await versionOf(join(repository, 'packages/kernel/package.json'))
  const named = before.replaceAll('.', '\\.')
  // changesets does not change the root, because the root is not a package of the workspace.
  const own = new RegExp(`(?<="(?:version|@oncehook/[a-z]+)": ")${named}(?=")`, 'g')
  await change(join(repository, 'package.json'), (text) => text.replaceAll(own, version))
  const whole = new RegExp(`(?<![\\d.])${named}(?!\\.?\\d)`, 'g')
  for (const file of FILES_WITH_VERSION) await change(join(repository, file), (text) => text.replaceAll(whole, version))
  await change(join(repository, 'CHANGELOG.md'), (text) =>
    addSection(text, changelogSection({ version, date, changes: [...unreleasedChanges(text), ...changes] })),
  )
  return version
}

/** The unreleased changes. If a change names several packages, the largest bump counts. */
async function readChanges(repository: string): Promise<Change[]> {
  const changesets = await readChangesets(repository)
  return changesets.flatMap(({ summary, releases }) => {
    const bump = BUMPS.find((one) => releases.some(({ type }) => type === one))
    return bump === undefined ? [] : [{ bump, summary }]
  })
}

async function versionOf(manifest: string): Promise<string> {
  const { version } = JSON.parse(await readFile(manifest, 'utf8')) as { readonly version: string }
  return version
}

async function change(file: string, edit: (text: string) => string): Promise<void> {
  await writeFile(file, edit(await readFile(file, 'utf8')))
}
