import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'

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

/**
 * Creates the source of a value. Files read with the function passed to `read` are tracked; `known` lists files that
 * are read in another way.
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

/** Identifies the content of a file. 'unreadable' if it is missing, for example while it is being replaced. */
function fingerprintOf(path: string): string {
  try {
    return hash('sha256', readFileSync(path))
  } catch {
    return 'unreadable'
  }
}
