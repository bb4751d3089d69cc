import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type ContainerRuntimeClient, getContainerRuntimeClient, ImageName } from 'testcontainers'
import type { TestContext } from 'vitest'
import { findTool, missingTool } from '../../../scripts/tools/find-tool.ts'

/** Put on every container that a test starts, so that what a killed run leaves can be found and removed. */
export const TEST_LABEL = { 'oncehook.test': '1' }

// If the official image is neither here nor available, the one of docker/local/build.sh replaces it. Our own come from
// docker/build.sh, and count only when their label names a commit of the same sources.
const IMAGES = {
  mongo: { setting: 'MONGO_IMAGE', official: 'mongo:8.0', local: 'oncehook-local/mongo:6.0.5' },
  node: { setting: 'NODE_IMAGE', official: 'node:24-bookworm-slim', local: 'oncehook-local/node:24.21.0' },
  nginx: { setting: 'PROXY_IMAGE', official: 'nginx:1.28-bookworm', local: 'oncehook-local/nginx:1.22.1' },
  gateway: { setting: 'GATEWAY_IMAGE', official: null, local: 'oncehook-local/gateway:test' },
  fulfilment: { setting: 'FULFILMENT_IMAGE', official: null, local: 'oncehook-local/fulfilment:test' },
  simulator: { setting: 'SIMULATOR_IMAGE', official: null, local: 'oncehook-local/simulator:test' },
  setup: { setting: 'SETUP_IMAGE', official: null, local: 'oncehook-local/setup:test' },
} as const

type ImageKind = keyof typeof IMAGES

/**
 * The image for a container of this kind: what `MONGO_IMAGE` (…) names, the official one, or the local one. Without a Docker
 * engine, without an image, or with one of ours that is of other sources, the test is skipped and says why.
 */
export async function containerImage(kind: ImageKind, context: TestContext): Promise<string> {
  const found = await findImage(kind)
  return 'name' in found ? found.name : context.skip(found.missing)
}

const searches = new Map<ImageKind, ReturnType<typeof searchImage>>()

/** Searches once. */
function findImage(kind: ImageKind): ReturnType<typeof searchImage> {
  const search = searches.get(kind) ?? searchImage(kind)
  searches.set(kind, search)
  return search
}

async function searchImage(kind: ImageKind): Promise<{ readonly name: string } | { readonly missing: string }> {
  const { setting, official, local } = IMAGES[kind]
  const engine = await findEngine()
  if (engine === undefined) return { missing: missingTool('docker') }
  const wanted = process.env[setting]
  for (const name of wanted ? [wanted] : [official, local]) {
    if (name === null || !(await isHere(engine, name))) continue
    const outdated = official === null && !wanted ? await findOutdated(engine, name) : undefined
    return outdated === undefined ? { name } : { missing: outdated }
  }
  return { missing: describeMissing(kind, wanted) }
}

function describeMissing(kind: ImageKind, wanted: string | undefined): string {
  const { official, local } = IMAGES[kind]
  if (official === null) return `the image ${wanted ?? local} is not here: docker/build.sh makes it`
  return `the image ${wanted ?? official} is not here and cannot be pulled: docker/local/build.sh makes one`
}

/**
 * Pulls external images that are neither here nor made here. A first pull takes minutes, so this runs before the tests,
 * outside their time limits. Tests that need a missing image are skipped.
 */
export async function pullImages(): Promise<void> {
  const engine = await findEngine()
  if (engine === undefined) return
  for (const { setting, official, local } of Object.values(IMAGES)) {
    const wanted = process.env[setting] || official
    if (wanted === null || (await isHere(engine, wanted))) continue
    if (wanted === official && (await isHere(engine, local))) continue
    await engine.image.pull(ImageName.fromString(wanted)).catch(() => undefined)
  }
}

async function findEngine(): Promise<ContainerRuntimeClient | undefined> {
  return (await findTool('docker')) === null ? undefined : getContainerRuntimeClient()
}

function isHere(engine: ContainerRuntimeClient, name: string): Promise<boolean> {
  return engine.image.exists(ImageName.fromString(name))
}

const run = promisify(execFile)

const REPOSITORY = fileURLToPath(new URL('../../..', import.meta.url))

/** The sources of the images, according to .dockerignore. */
const SOURCES = ['package.json', 'package-lock.json', '.npmrc', '.dockerignore', 'packages']
const SOURCES_OF_DOCKER = ['docker/Dockerfile', 'docker/probe.mjs', 'docker/compose/*.ts']
const IN_NO_IMAGE = ['**/*.md', '**/*.test.ts', '**/testing/**']

/** Why one of our images does not match this commit's sources. If Git knows no commit, any image matches. */
async function findOutdated(engine: ContainerRuntimeClient, name: string): Promise<string | undefined> {
  const git = (...args: string[]) => run('git', args, { cwd: REPOSITORY })
  const head = await git('rev-parse', 'HEAD').catch(() => undefined)
  if (head === undefined) return undefined
  const { Config } = await engine.image.inspect(ImageName.fromString(name))
  const revision = Config.Labels?.['org.opencontainers.image.revision']?.replace(/-dirty$/, '') ?? 'unknown'
  const paths = [...SOURCES, ...SOURCES_OF_DOCKER, ...IN_NO_IMAGE.map((path) => `:(exclude,glob)${path}`)]
  const unchanged = await git('diff', '--quiet', revision, 'HEAD', '--', ...paths).then(
    () => true,
    () => false,
  )
  return unchanged ? undefined : `the image ${name} is of other sources (${revision}): docker/build.sh makes it anew`
}
