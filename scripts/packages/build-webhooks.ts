import { buildLibrary } from './build-library.ts'

// These are dependencies, so their fixes arrive without a new version of ours. Bundling both would double the size.
const DEPENDENCIES = { jose: '^6.2.17', zod: '^4.6.7' }

/** Builds `@oncehook/webhooks` as it is published, in an empty folder. */
export async function buildWebhooks(repository: string, folder: string): Promise<void> {
  await buildLibrary(repository, folder, {
    ...{ workspace: 'webhooks', external: Object.keys(DEPENDENCIES), terse: 'providers' },
    fields: { dependencies: DEPENDENCIES },
  })
}
