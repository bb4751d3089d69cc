import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'

/** A value that files hold, the whole of it or parts: read at the start, and again whenever one of them has changed. */
export interface FileSource<T> {
  /**
   * Reads the value.
   * @throws SettingsError
   */
  read(): T
  /** Tells one content of all its files from another; the contents cannot be told from it. */
  fingerprint(): string
}

/**
 * Creates the source of a value. `read` reads further files by what it is given, so that the source knows them; `known`
 * are files that it reads in another way.
 */
export function createFileSource<T>(
  read: (readFile: (path: string) => string) => T,
  known: readonly (string | undefined)[] = [],
): FileSource<T> {
  const files = new Set(known.filter((path) => path !== undefined && path !== '') as string[])
  const readFile = (path: string): string => {
    files.add(path)
    return readFileSync(path, 'utf8')
  }
  return {
    read: () => read(readFile),
    fingerprint: () => hash('sha256', [...files].map(fingerprintOf).join('\n')),
  }
}

/** Tells one content of a file from another. One that is being replaced may be missing for an instant: 'unreadable'. */
export function fingerprintOf(path: string): string {
  try {
    return hash('sha256', readFileSync(path))
  } catch {
    return 'unreadable'
  }
}
