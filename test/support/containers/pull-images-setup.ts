import { pullImages } from './container-images.ts'

/** vitest's global set-up of the container tests: images of others are here, where they can be had, before any test begins. */
export async function setup(): Promise<void> {
  await pullImages()
}
