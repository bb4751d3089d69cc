import { createHandler, type Store } from '../create-handler.ts'

const unreachable = async (): Promise<never> => {
  throw new Error('The database is unreachable')
}

/** The file of a program, see `run`. */
export const LOGGING_PROCESS = import.meta.filename

/**
 * A process whose handler writes an error to standard error several times per second, with the log that it has by default.
 * It writes `started`, then `alive` after a second, and ends.
 */
function run(): void {
  const outbox = { claim: unreachable, count: unreachable } as unknown as Store<never>['outbox']
  const store: Store<never> = { once: unreachable, ping: unreachable, removeExpired: unreachable, outbox }
  const handler = createHandler({
    ...{
      name: 'test',
      store,
      secrets: `whsec_${Buffer.alloc(32, 1).toString('base64')}`,
      on: { '*': () => undefined },
    },
    ...{ later: { mail: () => undefined }, laterLimits: { pollMs: 50 } },
  })
  process.stdout.write('started\n')
  setTimeout(() => handler.work(), 200)
  setTimeout(() => process.stdout.write('alive\n', () => process.exit()), 1_200)
}

if (process.argv[1] === LOGGING_PROCESS) run()
