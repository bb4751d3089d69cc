// A value that is stored in files: how it is read, and how it follows them. Contents are compared, not file system events, because these are lost for
// mounted secrets and replaced files. Wrong content is reported once, and the former value stays.
import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { nameAsSet } from './name-as-set.ts'
import { SettingsError } from './settings.ts'

/** A value stored fully or partly in files. It is read at start, and again whenever a file changes. */
export interface FileSource<T> {
  /** @throws SettingsError */
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

/** How often files are compared, in milliseconds. */
export const CHECK_FILES_MS = 1_000

export interface WatchedSource<T> {
  current(): T
  /** What is wrong with the newest content. Empty: it is in use. */
  problems(): readonly string[]
  /** Checks whether a file has changed. Invalid content is rejected and reported once; the previous value stays in use. */
  check(): void
}

export interface SourceListeners<T> {
  readonly onChanged: (value: T) => void
  readonly onRefused: (problems: readonly string[]) => void
}

/**
 * Reads a value and watches its files. Compares file contents, because file system events are lost for mounted
 * secrets and replaced files.
 * @throws SettingsError if the initial content is invalid
 */
export function watchSource<T>(source: FileSource<T>, { onChanged, onRefused }: SourceListeners<T>): WatchedSource<T> {
  let { seen, value } = readSettled(source)
  let problems: readonly string[] = []
  return {
    current: () => value,
    problems: () => problems,
    check() {
      const fingerprint = source.fingerprint()
      if (fingerprint === seen) return
      seen = fingerprint
      try {
        ;({ seen, value } = readSettled(source))
        problems = []
        onChanged(value)
      } catch (error) {
        if (!(error instanceof SettingsError)) throw error
        problems = error.problems
        onRefused(problems)
      }
    },
  }
}

const MOST_READS = 5

/**
 * Reads until the files are unchanged by the read. Otherwise a file written during the read would count as read, and
 * a secret file named for the first time would not be compared.
 */
function readSettled<T>(source: FileSource<T>): { seen: string; value: T } {
  for (let reads = 1; ; reads += 1) {
    const seen = source.fingerprint()
    const value = source.read()
    if (seen === source.fingerprint() || reads === MOST_READS) return { seen, value }
  }
}
