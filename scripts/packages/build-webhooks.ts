import { buildLibrary } from './build-library.ts'

// A dependency, so that its fixes arrive without a new version of ours. `jose` is part of the bundle: it has only ES modules,
// which Node.js before 20.19 and Jest cannot require.
const DEPENDENCIES = { zod: '^4.6.7' }

/** Builds `@oncehook/webhooks` as it is published, in an empty folder. */
export async function buildWebhooks(repository: string, folder: string): Promise<void> {
  await buildLibrary(repository, folder, {
    ...{ workspace: 'webhooks', external: Object.keys(DEPENDENCIES), terse: 'providers' },
    fields: { dependencies: DEPENDENCIES },
  })
}
