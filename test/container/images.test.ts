import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newServiceKeyPair } from '@oncehook/kernel/testing/service-key-pair'
import { getContainerRuntimeClient, Wait } from 'testcontainers'
import { afterAll, describe, expect, it, type TestContext } from 'vitest'
import { SERVICE_FLAGS } from '../../scripts/start/node-flags.ts'
import { containerImage, TEST_LABEL } from '../support/containers/container-images.ts'
import { LoopbackContainer } from '../support/containers/loopback-container.ts'
import { runDocker, runProgram } from '../support/containers/run-docker.ts'

const KINDS = ['gateway', 'fulfilment', 'simulator', 'setup'] as const
const MAX_BYTES = 300_000_000

/** The part of the output of `docker image inspect` that is used here. */
interface Inspected {
  readonly Size: number
  readonly Config: {
    readonly User: string
    readonly Env: readonly string[]
    readonly Entrypoint: readonly string[]
    readonly Labels: Readonly<Record<string, string>>
    readonly Healthcheck?: { readonly Test: readonly string[] }
  }
}

async function inspect(image: string): Promise<Inspected> {
  const [inspected] = JSON.parse(await runDocker('image', 'inspect', image)) as Inspected[]
  if (inspected === undefined) throw new Error(`There is no image ${image}`)
  return inspected
}

/** A folder with the layers of all images. They have most of their layers in common, so they are saved together. */
let saved: Promise<string> | undefined
const resources = new AsyncDisposableStack()
afterAll(() => resources.disposeAsync())

async function saveAll(context: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'oncehook-images-'))
  resources.defer(() => rm(folder, { recursive: true, force: true }))
  const images = await Promise.all(KINDS.map((kind) => containerImage(kind, context)))
  const archive = join(folder, 'images.tar')
  await runDocker('save', '--output', archive, ...images)
  await runProgram(['tar', '-xf', archive, '-C', folder])
  return folder
}

/** The files and links of every layer above the base, one list per layer, including those that a later layer hides. */
async function listLayers(folder: string, image: string): Promise<string[][]> {
  const manifests = JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8')) as {
    readonly RepoTags: readonly string[]
    readonly Layers: readonly string[]
  }[]
  const manifest = manifests.find(({ RepoTags }) => RepoTags.includes(image))
  const layers: string[][] = []
  for (const layer of manifest?.Layers.slice(1) ?? []) {
    const { stdout } = await runProgram(['tar', '-tf', join(folder, layer)])
    layers.push(stdout.split('\n').filter((path) => path !== '' && !path.endsWith('/')))
  }
  return layers
}

const BELONGS = [
  /^usr\/local\/bin\/node$/,
  /^app\/docker\/probe\.mjs$/,
  /^app\/docker\/compose\/[a-z-]+\.ts$/,
  /^app\/packages\/[a-z]+\/package\.json$/,
  /^app\/packages\/[a-z]+\/src\/[a-z0-9/-]+\.(ts|json)$/,
  /^app\/packages\/console\/dist\/(index\.html|[a-z]+\.svg|assets\/[\w.-]+)$/,
  /^app\/(packages\/[a-z]+\/)?node_modules\//,
]
const DOES_NOT_BELONG = [
  /\.test\.ts$/,
  /\/testing\//,
  /\.(pem|key|crt|p12)$/,
  /(^|\/)\.(env|npmrc|git)(\/|$)/,
  /(^|\/)\.?_cacache\//,
  /^app\/node_modules\/(npm|typescript|vitest|@biomejs|testcontainers|mongodb-memory-server-core|fast-check)\//,
]
/** Patterns of private keys and secrets. */
const SECRETS = 'BEGIN [A-Z ]*PRIVATE KEY|whsec_[A-Za-z0-9+/]{24}|_authToken|mongodb://[^ ]+:[^ ]+@[a-z0-9.]+'

describe.for(KINDS)('the image of %s', (kind) => {
  const image = (context: TestContext) => containerImage(kind, context)

  it('is small, runs as a number that is not root, and asks for no shell', async (context) => {
    const { Size, Config } = await inspect(await image(context))
    expect(Size).toBeLessThan(MAX_BYTES)
    expect(Config.User).toBe('10001:10001')
    expect(Config.Entrypoint[0]).toBe('node')
    if (kind === 'gateway' || kind === 'fulfilment') {
      expect(Config.Entrypoint).toEqual(['node', ...SERVICE_FLAGS])
      expect(Config.Healthcheck?.Test.slice(0, 3)).toEqual(['CMD', 'node', 'docker/probe.mjs'])
    }
    expect(Config.Labels).toMatchObject({
      'org.opencontainers.image.title': `oncehook-${kind}`,
      'org.opencontainers.image.licenses': 'Apache-2.0',
    })
  })

  it('contains its sources and production dependencies, and no secret, cache or test', async (context) => {
    const name = await image(context)
    saved ??= saveAll(context)
    const paths = (await listLayers(await saved, name)).flat()
    expect(paths).toContain('usr/local/bin/node')
    expect(paths.filter((path) => path.endsWith('src/main.ts'))).toHaveLength(1 + Number(kind === 'simulator'))
    expect(paths.filter((path) => !BELONGS.some((belongs) => belongs.test(path)))).toEqual([])
    expect(paths.filter((path) => DOES_NOT_BELONG.some((wrong) => wrong.test(path)))).toEqual([])
  })

  it('has no secret in a setting, in a step of its making or in a file of ours', async (context) => {
    const name = await image(context)
    const { Config } = await inspect(name)
    const names = Config.Env.map((setting) => setting.split('=')[0])
    const known = ['PATH', 'NODE_ENV', 'GATEWAY_HOST', 'ADMIN_HOST', 'FULFILMENT_HOST']
    expect(names.filter((setting) => !known.includes(setting ?? ''))).toEqual([])
    const history = await runDocker('history', '--no-trunc', '--format', '{{.CreatedBy}}', name)
    expect(history).not.toMatch(/token|password|secret=|npm_config|whsec_/i)
    const search = ['--entrypoint=grep', name, '-rlE', SECRETS, '/app/packages', '/app/docker']
    const nothingFound = { code: 1, stdout: '' }
    await expect(runDocker('run', '--rm', '--network=none', ...search)).rejects.toMatchObject(nothingFound)
  })
})

describe.for(['gateway', 'fulfilment'] as const)('%s without its database', (kind) => {
  it('runs on a read-only root without capabilities, and exits with 0 on SIGTERM', async (context) => {
    const keys = newServiceKeyPair()
    await using running = await new LoopbackContainer(await containerImage(kind, context))
      .withHardening()
      .withLabels(TEST_LABEL)
      .withNetworkMode('none')
      .withEnvironment({
        MONGODB_URI: 'mongodb://127.0.0.1:1/?replicaSet=rs0',
        SERVICE_PRIVATE_KEY: keys.privateKey,
        SERVICE_PUBLIC_KEYS: keys.publicKey,
        PROVIDERS: '{}',
        RECEIPT_SINK: 'log:',
      })
      .withWaitStrategy(Wait.forLogMessage(/mongodb\.unreachable/))
      .start()
    const [name, port] = kind === 'gateway' ? ['ADMIN', '8081'] : ['FULFILMENT', '8090']
    const probe = async (path: string) => (await running.exec(['node', 'docker/probe.mjs', name, port, path])).exitCode
    expect(await probe('/livez')).toBe(0)
    expect(await probe('/readyz'), 'the probe of one that is not ready').toBe(1)

    const handle = (await getContainerRuntimeClient()).container.getById(running.getId())
    const begun = performance.now()
    await handle.stop({ t: 20 })
    expect((await handle.inspect()).State.ExitCode).toBe(0)
    expect(performance.now() - begun).toBeLessThan(10_000)
  })
})
