import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { nameAsSet, SettingsError } from './settings.ts'

/** A value stored fully or partly in files. It is read at start, and again whenever a file changes. */
export interface FileSource<T> {
  /**
   * Reads the value.
   * @throws SettingsError
   */
  read(): T
  /** Identifies the content of all its files without revealing it. */
  fingerprint(): string
}

/** The settings that a value comes from, and the environment that contains them. */
interface OfSettings {
  readonly env: NodeJS.ProcessEnv
  readonly names: readonly string[]
}

/**
 * Creates the source of a value. Files read with the function passed to `read` are tracked, and so are the files of the
 * settings that it comes from. The errors of `read` name these settings as they are set.
 */
export function createFileSource<T>(
  read: (readFile: (path: string) => string) => T,
  { env, names }: OfSettings = { env: {}, names: [] },
): FileSource<T> {
  const files = new Set(names.map((name) => env[`${name}_FILE`] ?? '').filter((path) => path !== ''))
  const readFile = (path: string): string => {
    files.add(path)
    return readFileSync(path, 'utf8')
  }
  return {
    read() {
      try {
        return read(readFile)
      } catch (error) {
        if (!(error instanceof SettingsError)) throw error
        const problems = error.problems.map((problem) => nameAsSet(problem, env))
        throw new SettingsError(problems, { cause: error })
      }
    },
    fingerprint: () => hash('sha256', [...files].map(fingerprintOf).join('\n')),
  }
}

/** Identifies the content of a file. 'unreadable' if it is missing, for example while it is being replaced. */
function fingerprintOf(path: string): string {
  try {
    return hash('sha256', readFileSync(path))
  } catch {
    return 'unreadable'
  }
}
