import { createFileSource, type FileSource } from '@oncehook/kernel/settings/file-source'
import { type Providers, readProviders } from './read-providers.ts'
import { readSigning, type SigningSource } from './read-signing.ts'

/** The source of the providers: read at the start, and again whenever one of its files has changed. */
export interface ProvidersSource extends FileSource<Providers> {
  /** Reads again what signs for a provider at `now` (milliseconds). Null if it cannot be read, or no secret is valid. */
  readSigning(provider: string, now: number): SigningSource | null
}

/** Dependencies of a source. */
export interface SourceOptions {
  readonly readText: () => string
  readonly maxBytes: number
  readonly toleranceSeconds: number
}

/** Creates the source of the `PROVIDERS` setting: its file, and the files of secrets that it names. */
export function createProvidersSource(env: NodeJS.ProcessEnv, options: SourceOptions): ProvidersSource {
  const { readText, maxBytes, toleranceSeconds } = options
  const readEnv = (name: string): string | undefined => env[name]
  const source = createFileSource(
    (readFile) => readProviders(readText(), { readEnv, readFile, maxBytes, toleranceSeconds }),
    { env, names: ['PROVIDERS'] },
  )
  return {
    ...source,
    readSigning: (provider, now) => readSigning({ readText, readEnv, provider, now }),
  }
}
