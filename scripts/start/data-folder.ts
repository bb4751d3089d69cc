import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'

/** The paths of everything that `npm start` keeps. */
export interface DataFolder {
  readonly path: string
  readonly lock: string
  readonly running: string
  readonly secrets: string
  readonly providers: string
  readonly receipts: string
  readonly logs: string
  readonly mongo: string
}

/** Makes the data folder, which only its owner can read: `.data` in the repository, or `ONCEHOOK_DATA`. */
export function openDataFolder(repository: string, env: NodeJS.ProcessEnv): DataFolder {
  const path = resolve(repository, env.ONCEHOOK_DATA || '.data')
  const logs = join(path, 'logs')
  mkdirSync(path, { recursive: true, mode: 0o700 })
  mkdirSync(logs, { recursive: true, mode: 0o700 })
  return {
    path,
    lock: join(path, 'start.lock'),
    running: join(path, 'running.json'),
    secrets: join(path, 'secrets.json'),
    providers: join(path, 'providers.json'),
    receipts: join(path, 'receipts.jsonl'),
    logs,
    mongo: join(path, 'mongo'),
  }
}
