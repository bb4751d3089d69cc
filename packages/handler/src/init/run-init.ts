import { parseArgs } from 'node:util'
import { describeError } from '../handler-log.ts'
import { POSTGRES_SCHEMA } from '../postgres/postgres-schema.ts'

/** Prepares one kind of database. Returns a line for each part: what was created, or was there already. */
type SetUp = (url: string) => Promise<readonly string[]>

export interface InitParts {
  readonly write: (text: string) => void
  readonly warn: (text: string) => void
  readonly postgres: SetUp
  readonly mongo: SetUp
}

const USAGE = `Usage: npx @oncehook/handler init --postgres <url>
       npx @oncehook/handler init --mongo <url>
       npx @oncehook/handler init --print

Creates what the handler needs in your database. You can run it again at any time.
--print prints the SQL for PostgreSQL instead, for your own migrations.
`

/** Runs the command. Returns its exit status: 0, 1 if the database fails, or 2 if the arguments are wrong. */
export async function runInit(args: readonly string[], { write, warn, postgres, mongo }: InitParts): Promise<number> {
  const [wanted, ...others] = readArguments(args)
  if (wanted === undefined || others.length > 0) {
    warn(USAGE)
    return 2
  }
  try {
    const { kind, url } = wanted
    if (kind === 'print') write(POSTGRES_SCHEMA)
    else for (const line of await (kind === 'postgres' ? postgres : mongo)(url)) write(`${line}\n`)
    return 0
  } catch (error) {
    warn(`The database cannot be set up: ${describeError(error)}\n`)
    return 1
  }
}

interface Wanted {
  readonly kind: 'postgres' | 'mongo' | 'print'
  readonly url: string
}

function readArguments(args: readonly string[]): readonly Wanted[] {
  try {
    const options = { postgres: { type: 'string' }, mongo: { type: 'string' }, print: { type: 'boolean' } } as const
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    if (positionals.length !== 1 || positionals[0] !== 'init') return []
    const { postgres, mongo, print } = values
    return [
      ...(postgres ? [{ kind: 'postgres', url: postgres } as const] : []),
      ...(mongo ? [{ kind: 'mongo', url: mongo } as const] : []),
      ...(print ? [{ kind: 'print', url: '' } as const] : []),
    ]
  } catch {
    return []
  }
}
