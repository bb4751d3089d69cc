import { SettingsError } from '@oncehook/kernel/settings'
import { withTimeout } from '@oncehook/kernel/with-timeout'
import type { OpenReceiptFile } from './receipt-file.ts'

/** Errors that need an operator: no permission, no valid path, or another kind of file at the path. */
const TO_PUT_RIGHT: ReadonlySet<string> = new Set([
  ...['EACCES', 'EPERM', 'EROFS'],
  ...['EEXIST', 'EISDIR', 'ELOOP', 'ENAMETOOLONG', 'ENOENT', 'ENOTDIR', 'ENXIO'],
])

// A stalled disk is not a configuration error: the sink waits for it.
const LONGEST_MS = 2_000

/**
 * Opens the receipt file once for writing. Creates the file and its folder if they are missing. Resolves within 2 s
 * even if the disk is full or stalled, because that may pass.
 * @throws SettingsError if the file cannot be written until an operator intervenes
 */
export async function checkFile(path: string, openFile: OpenReceiptFile): Promise<void> {
  const opened = openFile(path, 'a+').then((file) => file.close())
  try {
    await withTimeout(opened, LONGEST_MS)
  } catch (error) {
    const code = codeOf(error)
    if (!TO_PUT_RIGHT.has(code)) return
    throw new SettingsError(
      [
        `RECEIPT_SINK names a file that cannot be opened for writing (${code}). Grant this process write access, or set RECEIPT_SINK=file:<path> to a file in a writable folder`,
      ],
      { cause: error },
    )
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
