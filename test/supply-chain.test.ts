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

interface Workflow {
  readonly permissions: object
  readonly jobs: Readonly<Record<string, Job>>
}

interface Job {
  readonly needs?: string | readonly string[]
  readonly permissions?: object
  readonly uses?: string
  readonly steps?: readonly { readonly uses?: string; readonly run?: string }[]
}

it('.ci/run installs older versions of Node.js by their integrity', () => {
  const script = readFileSync(join(repository, '.ci/run'), 'utf8')
  const lock = readFileSync(join(repository, '.ci/node/package-lock.json'), 'utf8')
  const { packages } = JSON.parse(lock) as { packages: Record<string, { version: string; integrity: string }> }
  const [, versions = ''] = /for version in ([\d. ]+); do/.exec(script) ?? []
  const locked = Object.entries(packages).filter(([place]) => place !== '')
  expect(locked.map(([place]) => place)).toEqual(versions.split(' ').map((version) => `node_modules/node-${version}`))
  for (const [place, { version, integrity }] of locked) {
    expect([place, integrity]).toEqual([`node_modules/node-${version}`, expect.stringMatching(/^sha512-.{88}$/)])
  }
  expect(script.match(/npm install|npx /g)).toBe(null)
})

describe('workflows', () => {
  const texts = globSync('.github/workflows/*.yml', { cwd: repository }).map((file) =>
    readFileSync(join(repository, file), 'utf8'),
  )

  it('name actions by the commit, and the version in a comment', () => {
    // A workflow of this repository is of the same commit.
    const used = texts.flatMap((text) => text.match(/uses: (?!\.\/).+/g) ?? [])
    expect(used.length).toBeGreaterThan(3)
    expect(used.filter((line) => !/^uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))).toEqual([])
  })

  describe('release', () => {
    const { permissions, jobs } = parse(
      readFileSync(join(repository, '.github/workflows/release.yml'), 'utf8'),
    ) as Workflow
    const ofCommit = expect.stringContaining('needs.version.outputs.commit')

    it('attach all that npm run pack writes, made of the tagged commit', () => {
      expect(jobs.pack?.steps?.[0]).toMatchObject({ with: { ref: ofCommit } })
      const commands = jobs.pack?.steps?.flatMap((step) => step.run ?? [])
      expect(commands?.slice(0, 2)).toEqual(['npm audit --omit=dev --audit-level=high', 'npm run pack'])
      const [release] =
        jobs.publish?.steps?.flatMap((step) => (step.run?.startsWith('gh release') ? step.run : [])) ?? []
      expect(release).toMatch(/ --target "\$COMMIT" .* dist\/\*\.tgz dist\/\*\.json$/)
    })

    it('let only a job write that installs nothing and has no sources, after the tests of this commit', () => {
      const writing = Object.entries(jobs).filter(([, job]) => JSON.stringify(job.permissions ?? {}).includes('write'))
      expect([permissions, writing.map(([name]) => name)]).toEqual([{ contents: 'read' }, ['publish']])
      expect(jobs.publish?.needs).toEqual(['version', 'test', 'pack'])
      expect(jobs.test).toMatchObject({ uses: './.github/workflows/ci.yml', with: { ref: ofCommit } })
      const steps = jobs.publish?.steps ?? []
      const own = steps.map(({ uses, run: command }) => `${uses ?? command}`)
      expect(own.filter((one) => /checkout|npm (?!publish)|npx|node /.test(one))).toEqual([])
      expect(own.filter((one) => one.includes('npm publish'))).toEqual([expect.stringContaining('--provenance')])
    })
  })

  it('run no step as root', () => {
    const steps = texts.flatMap((text) =>
      Object.values((parse(text) as Workflow).jobs).flatMap((job) => job.steps ?? []),
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

it('the proxy of Compose takes only suites of TLS 1.2 with forward secrecy', () => {
  const text = readFileSync(join(repository, 'docker/compose/nginx.conf'), 'utf8')
  const [, suites = ''] = /^ *ssl_ciphers ([^;]+);$/m.exec(text) ?? []
  expect(suites.split(':').filter((suite) => !/^ECDHE-(?:ECDSA|RSA)-(?:AES\d+-GCM|CHACHA20)-/.test(suite))).toEqual([])
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
