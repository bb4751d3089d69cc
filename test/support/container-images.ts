import { fileURLToPath } from 'node:url'
import { type ContainerRuntimeClient, getContainerRuntimeClient, ImageName } from 'testcontainers'
import type { TestContext } from 'vitest'

/** Put on every container that a test starts, so that what a killed run leaves can be found and removed. */
export const TEST_LABEL = { 'oncehook.test': '1' }

// The image that docker/local/build.sh makes stands in where the official one is neither here nor to be had. Our own come from
// docker/build.sh.
const IMAGES = {
  mongo: { setting: 'MONGO_IMAGE', official: 'mongo:6.0', local: 'oncehook-local/mongo:6.0.5' },
  node: { setting: 'NODE_IMAGE', official: 'node:24-bookworm-slim', local: 'oncehook-local/node:24.21.0' },
  toxiproxy: {
    setting: 'TOXIPROXY_IMAGE',
    official: 'ghcr.io/shopify/toxiproxy:2.5.0',
    local: 'oncehook-local/toxiproxy:2.5.0',
  },
  nginx: { setting: 'PROXY_IMAGE', official: 'nginx:1.28-bookworm', local: 'oncehook-local/nginx:1.22.1' },
  gateway: { setting: 'GATEWAY_IMAGE', official: null, local: 'oncehook-local/gateway:test' },
  fulfilment: { setting: 'FULFILMENT_IMAGE', official: null, local: 'oncehook-local/fulfilment:test' },
  simulator: { setting: 'SIMULATOR_IMAGE', official: null, local: 'oncehook-local/simulator:test' },
  setup: { setting: 'SETUP_IMAGE', official: null, local: 'oncehook-local/setup:test' },
} as const

type ImageKind = keyof typeof IMAGES

/**
 * The image for a container of this kind: what `MONGO_IMAGE` (…) names, the official one, or the local one. Without a Docker
 * engine or without an image the test is skipped, and says why.
 */
export async function containerImage(kind: ImageKind, context: TestContext): Promise<string> {
  const found = await findImage(kind)
  return 'name' in found ? found.name : context.skip(found.missing)
}

/** What proxies are made from. */
export interface ProxyImage {
  readonly name: string
  /** A program that stands in for toxiproxy on an image of Node.js: its file here. */
  readonly program?: string
}

/** The image of toxiproxy; where there is none, as on a machine without Go or an image registry, our own proxy on Node.js. */
export async function proxyImage(context: TestContext): Promise<ProxyImage> {
  const found = await findImage('toxiproxy')
  return 'name' in found ? found : ownProxyImage(context)
}

/** Our own proxy, for tests of it. */
export async function ownProxyImage(context: TestContext): Promise<ProxyImage> {
  const program = fileURLToPath(import.meta.resolve('./toxic-server.ts'))
  return { name: await containerImage('node', context), program }
}

const searches = new Map<ImageKind, ReturnType<typeof searchImage>>()

/** Searches once: to ask a registry that does not answer takes a while. */
function findImage(kind: ImageKind): ReturnType<typeof searchImage> {
  const search = searches.get(kind) ?? searchImage(kind)
  searches.set(kind, search)
  return search
}

async function searchImage(kind: ImageKind): Promise<{ readonly name: string } | { readonly missing: string }> {
  const { setting, official, local } = IMAGES[kind]
  const engine = await getContainerRuntimeClient().catch(() => undefined)
  if (engine === undefined) return { missing: 'no Docker engine answers' }
  const wanted = process.env[setting]
  for (const name of wanted ? [wanted] : [official, local]) {
    if (name !== null && (await isHere(engine, name))) return { name }
  }
  const pulled = wanted ?? official
  if (pulled === null) return { missing: `the image ${local} is not here: docker/build.sh makes it` }
  if (await isPulled(engine, pulled)) return { name: pulled }
  return { missing: `the image ${pulled} is not here and cannot be pulled: docker/local/build.sh makes one` }
}

function isHere(engine: ContainerRuntimeClient, name: string): Promise<boolean> {
  return engine.image.exists(ImageName.fromString(name))
}

async function isPulled(engine: ContainerRuntimeClient, name: string): Promise<boolean> {
  try {
    await engine.image.pull(ImageName.fromString(name))
    return true
  } catch {
    return false
  }
}
