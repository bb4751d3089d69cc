import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A folder for the files of a test. Disposing it deletes it. */
export interface TemporaryFiles extends AsyncDisposable {
  readonly folder: string
  /** Writes a new file. Resolves to its path. */
  write(content: string): Promise<string>
}

export async function temporaryFiles(): Promise<TemporaryFiles> {
  const folder = await mkdtemp(join(tmpdir(), 'oncehook-files-'))
  return {
    folder,
    async write(content) {
      const path = join(folder, crypto.randomUUID())
      await writeFile(path, content)
      return path
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  }
}
