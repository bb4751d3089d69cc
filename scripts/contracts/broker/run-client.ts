import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { Say } from '../../progress.ts'
import type { Broker } from './broker-settings.ts'

/** Where to run the client, and for how long. */
export interface ClientRun {
  readonly broker: Broker
  readonly say: Say
  /** The longest time, in milliseconds. The client itself would wait forever for an answer. */
  readonly withinMs: number
  /** How often the client repeats a request that got 5xx, 408 or 429. Default: 2. */
  readonly retries?: number
}

const SECRETS = ['PACT_BROKER_TOKEN', 'PACT_BROKER_PASSWORD'] as const

/**
 * Runs the official client of the Pact Broker, and passes on what it says. Secrets reach it only by its environment, and
 * are removed from what it says.
 * @throws if it fails, or does not end in time
 */
export async function runClient(
  args: readonly string[],
  { broker, say, withinMs, retries = 2 }: ClientRun,
): Promise<void> {
  const [command = ''] = args
  const program = fileURLToPath(import.meta.resolve('@pact-foundation/pact-cli/bin/pact-broker.js'))
  const child = spawn(process.execPath, [program, ...args, '--retries', String(retries)], {
    env: broker.env,
    stdio: ['ignore', 'pipe', 'pipe'],
    // Its own group, because the program starts another one, which must end with it.
    detached: true,
  })
  const late = setTimeout(() => child.pid !== undefined && process.kill(-child.pid, 'SIGKILL'), withinMs)
  const ended = new Promise<NodeJS.Signals | number | null>((resolve, reject) => {
    child.once('error', reject).once('close', (code, signal) => resolve(signal ?? code))
  })
  try {
    const [stdout, stderr, end] = await Promise.all([text(child.stdout), text(child.stderr), ended])
    for (const line of `${stdout}\n${stderr}`.split('\n')) if (line.trim() !== '') say(withoutSecrets(line, broker))
    if (end === 'SIGKILL') throw new Error(`${command}: the Pact Broker did not answer within ${withinMs / 1_000} s`)
    if (end !== 0) throw new Error(`${command} failed: the reason is above`)
  } finally {
    clearTimeout(late)
  }
}

function withoutSecrets(line: string, { env }: Broker): string {
  return SECRETS.reduce((said, name) => (env[name] ? said.replaceAll(env[name], '***') : said), line)
}
