import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startPostgresProcess } from '../postgres/postgres-process.ts'
import { withProgress } from '../progress.ts'
import { requireTool } from '../tools/find-tool.ts'
import type { ExamplePreparation } from './examples.ts'

/** The URL of the database that `DATABASE_URL` names, or of a private server that keeps its data. */
export async function openPostgres({ env, data, say, add }: ExamplePreparation): Promise<string> {
  if (env.DATABASE_URL) return env.DATABASE_URL
  const programs = await requireTool('postgresql').catch((error: Error) => {
    throw new Error(`Install a PostgreSQL server, or set DATABASE_URL: ${error.message}`)
  })
  const starting = startPostgresProcess({
    programs,
    data: postgresFolder(data.path),
    logFile: join(data.logs, 'postgres.log'),
  })
  const { url, ended, stop } = await withProgress(say, 'Starting PostgreSQL', starting)
  add({ name: 'PostgreSQL', ended, stop: (graceMs) => stop('SIGINT', graceMs) })
  return url
}

/** For root, PostgreSQL runs as another user, who cannot enter the data folder. Then a file there names another folder. */
function postgresFolder(data: string): string {
  if (process.getuid?.() !== 0) return join(data, 'postgres')
  const file = join(data, 'postgres.folder')
  if (!existsSync(file)) writeFileSync(file, join(tmpdir(), `oncehook-postgres-${randomUUID()}`), { mode: 0o600 })
  return readFileSync(file, 'utf8')
}
