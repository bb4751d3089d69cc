import type { FileSource } from './file-source.ts'
import { SettingsError } from './settings.ts'

/** A value that follows its files without a restart. */
export interface WatchedSource<T> {
  current(): T
  /** Looks whether a file has changed. A content that is wrong is refused and told once; what counted before stays. */
  check(): void
}

/** Who is told of a change, and of a content that is refused. */
export interface SourceListeners<T> {
  readonly onChanged: (value: T) => void
  readonly onRefused: (problems: readonly string[]) => void
}

/**
 * Reads a value and follows its files. Files are compared by content and not by events of the file system, which are
 * lost with mounted secrets and replaced files.
 * @throws SettingsError when the first content is wrong
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
 * Reads until the files are the same after as before: one that was written meanwhile would otherwise count as read, and a
 * secret file that was named for the first time has only then become part of what is compared.
 */
function readSettled<T>(source: FileSource<T>): { seen: string; value: T } {
  for (let reads = 1; ; reads += 1) {
    const seen = source.fingerprint()
    const value = source.read()
    if (seen === source.fingerprint() || reads === MOST_READS) return { seen, value }
  }
}
