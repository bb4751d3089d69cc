import { join } from 'node:path'
import { setUpPostgres } from '../../packages/handler/src/postgres/set-up-postgres.ts'
import type { ExampleSurroundings } from '../start/run-system.ts'
import { openPostgres } from './open-postgres.ts'

/** What an example needs of its surroundings to prepare its database. */
export interface ExamplePreparation extends ExampleSurroundings {
  /** Its folder. */
  readonly folder: string
  readonly env: NodeJS.ProcessEnv
}

/** How an example is run. */
interface PreparedExample {
  /** The path of its program for Node.js, and the arguments. */
  readonly program: readonly string[]
  /** Its environment variables, besides `PORT` and `WEBHOOK_SECRET`. */
  readonly settings: Readonly<Record<string, string>>
  /** A command that shows what its events changed. */
  readonly look: string
}

/** One of the examples. */
export interface Example {
  /** The names of its events in `events/`, in the order in which they are suggested. */
  readonly events: readonly string[]
  /** Starts its database, and sets it up. */
  prepare(preparation: ExamplePreparation): Promise<PreparedExample>
}

const subscriptions: Example = {
  events: ['created', 'deleted', 'updated'],
  async prepare(preparation) {
    const url = await openPostgres(preparation)
    await setUpPostgres(url)
    return {
      program: [join(preparation.folder, 'src/main.ts')],
      settings: { DATABASE_URL: url },
      look: `psql '${url}' --command 'select * from subscriptions' --command 'select * from subscription_changes'`,
    }
  },
}

/** The examples, by the names of their folders. */
export const EXAMPLES: ReadonlyMap<string, Example> = new Map([['subscriptions-postgres', subscriptions]])
