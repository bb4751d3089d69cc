import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The file of the setting `HANDLERS_FILE`. Disposing it deletes its folder. */
export interface HandlersFile extends AsyncDisposable {
  readonly folder: string
  readonly path: string
  /** Replaces the handlers, by their names. */
  write(handlers: Readonly<Record<string, object>>): Promise<void>
}

/** Creates a folder for the file. The file exists once something is written. */
export async function openHandlersFile(): Promise<HandlersFile> {
  const folder = await mkdtemp(join(tmpdir(), 'oncehook-handlers-'))
  const path = join(folder, 'handlers.json')
  return {
    ...{ folder, path },
    write: (handlers) => writeFile(path, JSON.stringify(handlers)),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  }
}
