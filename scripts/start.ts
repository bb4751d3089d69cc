// Runs the whole system on this machine until Ctrl-C: npm start.
import { resolve } from 'node:path'
import { runSystem } from './start/run-system.ts'
import { listenForStop } from './start/stop-signals.ts'

const repository = resolve(import.meta.dirname, '..')

process.stdout.on('error', () => undefined) // a closed terminal or `npm start | head` must not break the orderly stop
process.exit(
  await runSystem({
    repository,
    env: process.env,
    say: (line) => process.stdout.write(`${line}\n`),
    signals: listenForStop(),
    programs: {
      gateway: resolve(repository, 'packages/gateway/src/main.ts'),
      fulfilment: resolve(repository, 'packages/fulfilment/src/main.ts'),
    },
  }),
)
