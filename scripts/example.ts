// Runs the whole system with one of the handlers in examples/: npm run example.
import { resolve } from 'node:path'
import { runExample } from './examples/run-example.ts'
import { listenForStop } from './start/stop-signals.ts'

process.stdout.on('error', () => undefined) // a closed terminal must not break the orderly stop
process.exit(
  await runExample(process.argv[2] ?? '', {
    repository: resolve(import.meta.dirname, '..'),
    env: process.env,
    say: (line) => process.stdout.write(`${line}\n`),
    signals: listenForStop(),
  }),
)
