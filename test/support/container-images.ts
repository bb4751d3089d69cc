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
  gateway: { setting: 'GATEWAY_IMAGE', official: null, local: 'oncehook-local/gateway:test' },
  fulfilment: { setting: 'FULFILMENT_IMAGE', official: null, local: 'oncehook-local/fulfilment:test' },
} as const

/**
 * The image for a container of this kind: what `MONGO_IMAGE` (…) names, the official one, or the local one. Without a Docker
 * engine or without an image the test is skipped, and says why.
 */
export async function containerImage(kind: keyof typeof IMAGES, context: TestContext): Promise<string> {
  const { setting, official, local } = IMAGES[kind]
  const engine = await getContainerRuntimeClient().catch(() => undefined)
  if (engine === undefined) return context.skip('no Docker engine answers')
  const wanted = process.env[setting]
  for (const name of wanted ? [wanted] : [official, local]) {
    if (name !== null && (await isHere(engine, name))) return name
  }
  const pulled = wanted ?? official
  if (pulled === null) return context.skip(`the image ${local} is not here: docker/build.sh makes it`)
  if (await isPulled(engine, pulled)) return pulled
  return context.skip(`the image ${pulled} is not here and cannot be pulled: docker/local/build.sh makes one`)
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
