import { execFile, spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { readWebhookKey, signWebhook } from '@oncehook/kernel/secrets/sign-webhook'
import type { TaskEvent } from '../../../packages/gateway/src/handlers/task-event.ts'
import { readUntilReady } from '../stack/read-until-ready.ts'

const repository = resolve(import.meta.dirname, '../../..')

/** An example that runs by its one command. */
export interface RunningExample extends AsyncDisposable {
  /** What the command printed until it was ready. */
  readonly lines: readonly string[]
  /** Delivers an event as Stripe does. Returns the status. */
  deliver(event: object): Promise<number>
  /** Calls its handler with a task, as the gateway does. Returns the status. */
  call(task: TaskEvent): Promise<number>
  /** Runs `oncehook contract verify` on it, with a sample event of the example, or with a body that is made up. Returns what it printed. */
  verifyContract(event?: string): Promise<string>
  /** Kills the process of the example, and waits until the command has stopped the rest. */
  kill(): Promise<void>
  /** Stops the command as Ctrl-C does. Returns its exit code. */
  stop(): Promise<number | null>
}

/** Starts an example with `npm run example`, as a new user does, with its data in a folder. */
export async function startExample(name: string, data: string): Promise<RunningExample> {
  const { MONGODB_URI: _, DATABASE_URL: __, ...inherited } = process.env
  const ports = { GATEWAY_PORT: '0', ADMIN_PORT: '0', FULFILMENT_PORT: '0', EXAMPLE_PORT: '0' }
  const retries = { RETRY_BASE_MS: '50', RETRY_CAP_MS: '500' }
  const child = spawn(process.execPath, ['scripts/bootstrap.mjs', 'scripts/example.ts', name], {
    cwd: repository,
    env: { ...inherited, ...ports, ...retries, ONCEHOOK_DATA: data },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exit = once(child, 'exit').then(([code]) => code as number | null)
  const lines = await readUntilReady(child.stdout)
  child.stdout.resume()
  if (!lines.at(-1)?.startsWith('Ready')) throw new Error(`It did not start:\n${lines.join('\n')}`)
  const json = async (file: string) => JSON.parse(await readFile(join(data, file), 'utf8'))
  const [running, secrets] = await Promise.all([json('running.json'), json('secrets.json')])
  const stop = async () => {
    child.kill('SIGINT')
    return exit
  }
  return {
    ...{ lines, stop },
    deliver: (event) => deliver(running.gatewayUrl, secrets.providers.stripe.secrets[0].value, event),
    call: async (task) => call(await findHandler(lines, data), task),
    verifyContract: async (event) => verifyContract(name, await findHandler(lines, data), event),
    async kill() {
      for (const pid of findProcesses(`examples/${name}/`, data)) process.kill(pid, 'SIGKILL')
      await exit
    },
    [Symbol.asyncDispose]: async () => void (await stop()),
  }
}

/** Where the handler of an example is, and the secret of its calls. */
interface HandlerPlace {
  readonly url: string
  readonly secret: string
}

async function findHandler(lines: readonly string[], data: string): Promise<HandlerPlace> {
  const secret = JSON.parse(await readFile(join(data, 'handler-secret.json'), 'utf8'))
  const [url = raise('It printed no address')] = /http:\S+\/webhooks/.exec(lines.join('\n')) ?? []
  return { url, secret }
}

async function call({ url, secret }: HandlerPlace, { key, json: body }: TaskEvent): Promise<number> {
  const signed = signWebhook({ id: key, now: Date.now(), body }, [readWebhookKey(secret) ?? raise('It has no secret')])
  const headers = { 'content-type': 'application/json', ...signed }
  const { status } = await fetch(url, { method: 'POST', headers, body })
  return status
}

async function verifyContract(name: string, { url, secret }: HandlerPlace, event?: string): Promise<string> {
  const folder = join(repository, 'examples', name)
  const [
    [
      handler = '',
      {
        events: [wanted],
      },
    ] = raise('There is no handler'),
  ] = Object.entries<{
    readonly events: readonly { readonly types: readonly string[] }[]
  }>(JSON.parse(await readFile(join(folder, 'handlers.json'), 'utf8')))
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [
      ...['scripts/bootstrap.mjs', 'packages/cli/src/main.ts', 'contract', 'verify', '--handler', url],
      ...['--secret-env', 'HANDLER_SECRET', '--name', handler, '--type', wanted?.types[0] ?? ''],
      ...(event === undefined ? [] : ['--body', join(folder, 'events', `${event}.json`)]),
    ],
    { cwd: repository, env: { ...process.env, HANDLER_SECRET: secret } },
  ).catch((error: { stdout?: string }) => raise(`The contract is not kept:\n${error.stdout}${error}`))
  return stdout
}

function raise(reason: string): never {
  throw new Error(reason)
}

async function deliver(gatewayUrl: string, secret: string, event: object): Promise<number> {
  const body = JSON.stringify(event)
  const at = Math.floor(Date.now() / 1000)
  const signature = createHmac('sha256', secret).update(`${at}.${body}`).digest('hex')
  const headers = { 'content-type': 'application/json', 'stripe-signature': `t=${at},v1=${signature}` }
  const { status } = await fetch(`${gatewayUrl}/api/webhooks/stripe`, { method: 'POST', headers, body })
  return status
}

/** The processes whose command line has a part, and that belong to a data folder. */
function findProcesses(part: string, data: string): number[] {
  const read = (pid: string, file: string): string => {
    try {
      return readFileSync(`/proc/${pid}/${file}`, 'utf8')
    } catch {
      return '' // it has ended meanwhile
    }
  }
  const isOne = (pid: string): boolean =>
    read(pid, 'cmdline').includes(part) && read(pid, 'environ').includes(`ONCEHOOK_DATA=${data}\0`)
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && isOne(name))
    .map(Number)
}
