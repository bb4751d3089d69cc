import { existsSync, globSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Where Debian puts the programs of each version; it does not add them to the PATH. */
const DEBIAN = '/usr/lib/postgresql/*/bin'

/** The folder with the programs of a PostgreSQL server, on the PATH or from Debian's package; null if there is none. */
export function findPostgres({ PATH = '' }: NodeJS.ProcessEnv): string | null {
  const version = (folder: string): number => Number(folder.split('/').at(-2))
  const newest = globSync(DEBIAN).toSorted((one, other) => version(other) - version(one))
  const folders = [...PATH.split(delimiter).filter((folder) => folder !== ''), ...newest]
  return folders.find((folder) => ['initdb', 'postgres'].every((name) => existsSync(join(folder, name)))) ?? null
}

/** Why a test is skipped without a server. `.ci/run` installs Debian's package. */
export const NO_POSTGRES = 'no PostgreSQL server is installed (Debian: postgresql)'
