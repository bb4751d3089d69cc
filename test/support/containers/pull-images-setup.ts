import { pullImages } from './container-images.ts'

/** vitest's global set-up of the container tests: pulls the available external images before any test begins. */
export async function setup(): Promise<void> {
  await pullImages()
}
