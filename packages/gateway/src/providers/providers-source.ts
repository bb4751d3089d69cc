import { createFileSource, type FileSource } from '@oncehook/kernel/file-source'
import { type Providers, readProviders } from './read-providers.ts'

/** Where the providers come from: read at the start, and again whenever a file behind them has changed. */
export type ProvidersSource = FileSource<Providers>

/** What a source is made with. */
export interface SourceOptions {
  readonly readText: () => string
  readonly maxBytes: number
  readonly toleranceSeconds: number
}

/** Creates the source of the `PROVIDERS` setting: the file that holds it, and the files of secrets that it names. */
export function createProvidersSource(env: NodeJS.ProcessEnv, options: SourceOptions): ProvidersSource {
  const { readText, maxBytes, toleranceSeconds } = options
  return createFileSource(
    (readFile) => readProviders(readText(), { readEnv: (name) => env[name], readFile, maxBytes, toleranceSeconds }),
    [env.PROVIDERS_FILE],
  )
}
