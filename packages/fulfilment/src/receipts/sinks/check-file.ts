import { SettingsError } from '@oncehook/kernel/settings'
import { within } from '@oncehook/kernel/within'
import type { OpenReceiptFile } from './receipt-file.ts'

/** What does not heal by itself: no right, no place for a file, or something else in its place. */
const TO_PUT_RIGHT: ReadonlySet<string> = new Set([
  ...['EACCES', 'EPERM', 'EROFS'],
  ...['EEXIST', 'EISDIR', 'ELOOP', 'ENAMETOOLONG', 'ENOENT', 'ENOTDIR', 'ENXIO'],
])

// A disk that stalls is no wrong setting: the sink waits for it.
const LONGEST_MS = 2_000

/**
 * Opens the file of receipts for writing once, and makes it with its folder where it is missing. Resolves within 2 s, also
 * where the disk is full or stalls: that may pass.
 * @throws SettingsError when it can never be written as things stand
 */
export async function checkFile(path: string, openFile: OpenReceiptFile): Promise<void> {
  const opened = openFile(path, 'a+').then((file) => file.close())
  try {
    await within(opened, LONGEST_MS)
  } catch (error) {
    const code = codeOf(error)
    if (!TO_PUT_RIGHT.has(code)) return
    throw new SettingsError(
      [
        `RECEIPT_SINK names a file that cannot be opened for writing (${code}). Let the user of this process write there, or set RECEIPT_SINK=file:<path> to a file in a folder where it may`,
      ],
      { cause: error },
    )
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
