import type { FileSource } from './file-source.ts'
import { SettingsError } from './settings.ts'

/** A value that follows its files without a restart. */
export interface WatchedSource<T> {
  current(): T
  /** Checks whether a file has changed. Invalid content is rejected and reported once; the previous value stays in use. */
  check(): void
}

/** Called on a change and on rejected content. */
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
  return {
    current: () => value,
    check() {
      const fingerprint = source.fingerprint()
      if (fingerprint === seen) return
      seen = fingerprint
      try {
        ;({ seen, value } = readSettled(source))
        onChanged(value)
      } catch (error) {
        if (!(error instanceof SettingsError)) throw error
        onRefused(error.problems)
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
