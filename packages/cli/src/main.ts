import { randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { UsageError } from './exit-code.ts'
import { runCli } from './run-cli.ts'

const repository = resolve(import.meta.dirname, '../../..')

process.exitCode = await runCli(process.argv.slice(2), {
  fetch,
  now: () => performance.timeOrigin + performance.now(),
  sleep: async (ms) => sleep(ms),
  random: Math.random,
  randomId: () => randomUUID().replaceAll('-', '').slice(0, 20),
  readStdin: async () => {
    if (process.stdin.isTTY) throw new UsageError('Name a file, or pipe the body in')
    return buffer(process.stdin)
  },
  write: (text) => void process.stdout.write(text),
  warn: (text) => void process.stderr.write(text),
  dataFolder: resolve(repository, process.env.ONCEHOOK_DATA || '.data'),
})
