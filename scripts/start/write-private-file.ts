import { renameSync, rmSync, writeFileSync } from 'node:fs'

/** Writes JSON that only this user may read. A reader sees the old file or the new one, never an incomplete one. */
export function writePrivateFile(path: string, content: unknown): void {
  const draft = `${path}.${process.pid}`
  rmSync(draft, { force: true }) // an existing file would keep its mode
  writeFileSync(draft, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 })
  renameSync(draft, path)
}
