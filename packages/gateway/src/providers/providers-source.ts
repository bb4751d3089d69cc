import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type Providers, readProviders } from './read-providers.ts'

/** Where the providers come from: read at the start, and again whenever a file behind them has changed. */
export interface ProvidersSource {
  /**
   * Reads the providers and their secrets.
   * @throws SettingsError
   */
  read(): Providers
  /** Tells one content of all files behind the providers from another; the contents cannot be told from it. */
  fingerprint(): string
}

/** What a source is made with. */
export interface SourceOptions {
  readonly readText: () => string
  readonly maxBytes: number
  readonly toleranceSeconds: number
}

/** Creates the source of the `PROVIDERS` setting: the file that holds it, and the files of secrets that it names. */
export function createProvidersSource(env: NodeJS.ProcessEnv, options: SourceOptions): ProvidersSource {
  const files = new Set<string>(env.PROVIDERS_FILE ? [env.PROVIDERS_FILE] : [])
  return {
    read() {
      return readProviders(options.readText(), {
        readEnv: (name) => env[name],
        readFile(path) {
          files.add(path)
          return readFileSync(path, 'utf8')
        },
        maxBytes: options.maxBytes,
        toleranceSeconds: options.toleranceSeconds,
      })
    },
    fingerprint: () => hash('sha256', [...files].map(contentOf).join('\n')),
  }
}

/** A file that is being replaced may be missing for an instant: that is a content of its own. */
function contentOf(path: string): string {
  try {
    return hash('sha256', readFileSync(path))
  } catch {
    return 'unreadable'
  }
}
