import { type OutputOptions, type Plugin, rolldown } from 'rolldown'

/** What is bundled. */
export interface BundleSource {
  /** The code of its first module, which imports everything else. */
  readonly code: string
  /** Where the imports of that code are resolved. */
  readonly folder: string
  /** Packages that are not bundled, but installed as dependencies. */
  readonly external?: readonly string[]
}

/**
 * Writes JavaScript for Node.js 20 and later that contains everything the code imports, except the modules of Node.js
 * and the external packages.
 * @returns the folders of the third-party packages that it contains
 */
export async function bundle(
  { code, folder, external = [] }: BundleSource,
  output: OutputOptions,
): Promise<readonly string[]> {
  const first = `${folder}/bundle-entry.ts`
  const entry: Plugin = {
    name: 'entry',
    resolveId: (source) => (source === first ? first : null),
    load: (file) => (file === first ? code : null),
  }
  const built = await rolldown({
    input: first,
    platform: 'node',
    external: [...external],
    transform: { target: 'node20' },
    // The errors of the catalogue that nobody uses are left out.
    treeshake: { manualPureFunctions: ['defineError'] },
    plugins: [entry],
    onLog: (level, { message }) => {
      if (level === 'warn') throw new Error(message)
    },
  })
  try {
    const { output: chunks } = await built.write(output)
    const modules = chunks.flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []))
    const folders = modules.flatMap((file) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file) ?? [])
    return [...new Set(folders)].toSorted()
  } finally {
    await built.close()
  }
}
