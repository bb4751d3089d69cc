import { execFile } from 'node:child_process'
import { chmodSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { writeSbom } from '../scripts/packages/attached-files.ts'

const run = promisify(execFile)
const repository = resolve(import.meta.dirname, '..')
const folder = mkdtempSync(join(tmpdir(), 'oncehook-supply-'))
afterAll(() => rmSync(folder, { recursive: true }))

describe('workflows', () => {
  const texts = globSync('.github/workflows/*.yml', { cwd: repository }).map((file) =>
    readFileSync(join(repository, file), 'utf8'),
  )

  it('name actions by the commit, and the version in a comment', () => {
    const used = texts.flatMap((text) => text.match(/uses: .+/g) ?? [])
    expect(used.length).toBeGreaterThan(3)
    expect(used.filter((line) => !/^uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))).toEqual([])
  })

  it('attach to a release all that npm run pack writes, made of the tagged commit', () => {
    const release = readFileSync(join(repository, '.github/workflows/release.yml'), 'utf8')
    const { steps } = (parse(release) as { jobs: { release: { steps: { if?: string; run?: string }[] } } }).jobs.release
    const ofRelease = steps.filter((step) => step.if === 'steps.version.outputs.version').map((step) => step.run)
    expect(ofRelease).toEqual([
      'npm audit --omit=dev --audit-level=high',
      'git checkout --quiet "$COMMIT"',
      'npm run pack',
      expect.stringMatching(/ dist\/\*\.tgz dist\/\*\.json$/),
    ])
  })

  it('run no step as root', () => {
    const steps = texts.flatMap((text) =>
      Object.values((parse(text) as { jobs: Record<string, { steps: { run?: string }[] }> }).jobs).flatMap(
        (job) => job.steps,
      ),
    )
    expect(steps.filter(({ run: command }) => command?.includes('sudo'))).toEqual([])
  })
})

it('the compose file uses a supported MongoDB, without zlib compression', () => {
  const text = readFileSync(join(repository, 'docker/compose.yaml'), 'utf8')
  const { services } = parse(text, { merge: true }) as {
    services: Record<string, { image: string; command: string[] }>
  }
  const [, major] = /mongo:(\d+)\./.exec(services.mongo1?.image ?? '') ?? []
  expect(Number(major)).toBeGreaterThanOrEqual(8)
  expect(services.mongo1?.command).toContain('--networkMessageCompressors=snappy,zstd')
})

describe('docker/pin-images.sh', () => {
  const file = join(folder, 'env')
  const digests = join(folder, 'digest')
  // A fake Docker client: every image has the digest in the file; none if the file is empty.
  writeFileSync(
    join(folder, 'docker'),
    `#!/bin/sh\n[ "$1" = pull ] && exec test -s ${digests}\nfor image; do :; done\necho "\${image%%:*}@sha256:$(cat ${digests})"\n`,
  )
  chmodSync(join(folder, 'docker'), 0o755)
  const pin = (...args: string[]) =>
    run('bash', [join(repository, 'docker/pin-images.sh'), ...args], {
      env: { PATH: `${folder}:${process.env.PATH}`, ENV_FILE: file },
    })

  it('writes the digests of a registry, notices a tag that moved, and changes nothing without an answer', async () => {
    writeFileSync(file, 'COMPOSE_PROJECT_NAME=oncehook\nMONGO_IMAGE=mongo:6.0\n')
    writeFileSync(digests, 'a'.repeat(64))
    await pin()
    const pinned = readFileSync(file, 'utf8')
    expect(pinned.trim().split('\n').toSorted()).toEqual([
      `BASE_IMAGE=debian:bookworm-slim@sha256:${'a'.repeat(64)}`,
      'COMPOSE_PROJECT_NAME=oncehook',
      `MONGO_IMAGE=mongo:8.0@sha256:${'a'.repeat(64)}`,
      `NODE_IMAGE=node:24-bookworm-slim@sha256:${'a'.repeat(64)}`,
      `PROXY_IMAGE=nginx:1.28-bookworm@sha256:${'a'.repeat(64)}`,
    ])
    await pin('--check')
    writeFileSync(digests, 'b'.repeat(64))
    await expect(pin('--check')).rejects.toThrow(`MONGO_IMAGE is not mongo:8.0@sha256:${'b'.repeat(64)}`)
    writeFileSync(digests, '')
    await expect(pin()).rejects.toThrow('No registry gives the digest')
    expect(readFileSync(file, 'utf8')).toBe(pinned)
  })
})

it('writeSbom lists the packages that services run, with the versions of the lock file, and no test packages', async () => {
  const file = join(folder, 'sbom.json')
  await writeSbom(repository, file)
  const { bomFormat, components } = JSON.parse(readFileSync(file, 'utf8')) as {
    bomFormat: string
    components: { name: string; version: string; hashes?: unknown }[]
  }
  expect(bomFormat).toBe('CycloneDX')
  const versions = new Map(components.map(({ name, version }) => [name, version]))
  const manifests = ['gateway', 'webhooks', 'fulfilment', 'kernel', 'queue'].map(
    (name) =>
      JSON.parse(readFileSync(join(repository, `packages/${name}/package.json`), 'utf8')) as {
        dependencies: Record<string, string>
      },
  )
  for (const [name, version] of manifests.flatMap(({ dependencies }) => Object.entries(dependencies))) {
    if (name.startsWith('@oncehook/')) continue
    expect([name, versions.has(name)]).toEqual([name, true])
    if (!['content-type', 'mongodb'].includes(name)) expect([name, versions.get(name)]).toEqual([name, version])
  }
  for (const name of ['vitest', 'knip', '@biomejs/biome']) expect(versions.has(name)).toBe(false)
})
