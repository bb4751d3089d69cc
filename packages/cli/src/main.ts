import { randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { UsageError } from './command.ts'
import { runCli } from './run-cli.ts'

process.stdout.on('error', leave)
process.stderr.on('error', leave)

process.exitCode = await runCli(process.argv.slice(2), {
  fetch,
  now: () => performance.timeOrigin + performance.now(),
  sleep: async (ms) => sleep(ms),
  randomId: () => randomUUID().replaceAll('-', '').slice(0, 20),
  readStdin: async () => {
    if (process.stdin.isTTY) throw new UsageError('Give a file, or pipe the body to standard input')
    return buffer(process.stdin)
  },
  readEnv: (name) => process.env[name],
  write: (text) => void process.stdout.write(text),
  warn: (text) => void process.stderr.write(text),
  dataFolder: resolve(process.env.ONCEHOOK_DATA || '.data'),
  operatorToken: process.env.ONCEHOOK_OPERATOR_TOKEN || undefined,
  writesToTerminal: process.stdout.isTTY,
  hasTerminal: process.stderr.isTTY,
  ask: process.stdin.isTTY && process.stderr.isTTY ? ask : null,
  onInterrupt(listener) {
    process.on('SIGINT', listener)
    return () => process.off('SIGINT', listener)
  },
})

/** Ends the command when nobody reads its output any more, as `head` does, or when the output cannot be written. */
function leave(error: NodeJS.ErrnoException): never {
  if (error.code !== 'EPIPE') process.stderr.write(`The output cannot be written: ${error.code ?? error.message}\n`)
  process.exit(1)
}

async function ask(question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return await lines.question(question)
  } finally {
    lines.close()
  }
}
