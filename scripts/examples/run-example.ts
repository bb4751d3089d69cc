import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../ports/port.ts'
import { stablePort } from '../ports/stable-port.ts'
import { type Say, withProgress } from '../progress.ts'
import { type DataFolder, openDataFolder } from '../start/data-folder.ts'
import { otherTerminal } from '../start/next-step.ts'
import { type ExampleSurroundings, runSystem } from '../start/run-system.ts'
import { startService } from '../start/service-process.ts'
import type { StopSignals } from '../start/stop-signals.ts'
import { writePrivateFile } from '../start/write-private-file.ts'
import { EXAMPLES, type Example } from './examples.ts'

/** The options of `npm run example`. */
export interface RunExampleOptions {
  readonly repository: string
  readonly env: NodeJS.ProcessEnv
  readonly say: Say
  readonly signals: StopSignals
}

/** The port in each `handlers.json`. */
const PORT = 8091

/**
 * Runs the whole system with one of the examples as a handler, its database included, until it is asked to stop. Returns the
 * exit code: 2 if there is no such example, otherwise as `npm start`.
 */
export async function runExample(name: string, options: RunExampleOptions): Promise<number> {
  const { repository, env, say } = options
  const example = EXAMPLES.get(name)
  if (example === undefined) {
    say(`Name one of the examples: ${[...EXAMPLES.keys()].map((one) => `npm run example -- ${one}`).join(', ')}`)
    return 2
  }
  const wanted = Number(env.EXAMPLE_PORT || PORT)
  const port = wanted === 0 ? await stablePort() : await freePort(wanted)
  if (port === undefined) {
    say(
      `Port ${env.EXAMPLE_PORT || PORT} is used by another program: stop it, or choose another port with EXAMPLE_PORT`,
    )
    return 1
  }
  const secret = readHandlerSecret(openDataFolder(repository, env))
  const folder = join(repository, 'examples', name)
  const providers = join(folder, 'providers.json')
  const handlers = readFileSync(join(folder, 'handlers.json'), 'utf8').replaceAll(`:${PORT}/`, `:${port}/`)
  return runSystem({
    ...options,
    env: {
      ...env,
      ...{ HANDLERS: handlers, WEBHOOK_SECRET: secret },
      ...(existsSync(providers) ? { PROVIDERS_FILE: providers } : {}),
    },
    programs: {
      gateway: join(repository, 'packages/gateway/src/main.ts'),
      fulfilment: join(repository, 'packages/fulfilment/src/main.ts'),
    },
    example: (surroundings) => startExample(example, { name, folder, env, secret, port, ...surroundings }),
  })
}

interface ExamplePlace extends ExampleSurroundings {
  readonly name: string
  readonly folder: string
  readonly env: NodeJS.ProcessEnv
  readonly secret: string
  readonly port: number
}

async function startExample(example: Example, place: ExamplePlace): Promise<readonly string[]> {
  const { name, env, secret, port, data, say, signal, add } = place
  const { program, settings, look } = await example.prepare(place)
  const url = `http://127.0.0.1:${port}`
  const logFile = join(data.logs, 'example.log')
  const service = startService({
    ...{ name: 'the example', script: program[0] ?? '', args: program.slice(1) },
    ...{ env: { ...env, ...settings, PORT: String(port), UVICORN_PORT: String(port), WEBHOOK_SECRET: secret } },
    ...{ logFile, readyUrl: `${url}/readyz`, say },
  })
  add({ name: 'the example', ...service })
  await withProgress(say, 'Starting the example', service.ready(signal))
  const send = (file: string) =>
    `npm run --silent oncehook -- sign examples/${name}/events/${file}.json --provider stripe --curl | sh`
  return [
    `  Example       ${url}/webhooks; its log is ${logFile}`,
    '',
    `Deliver its signed events from ${otherTerminal(env, data)}, in any order, and as often as you like:`,
    '',
    ...example.events.map(send),
    '',
    'See what they changed:',
    '',
    look,
  ]
}

/** The secret with which the gateway signs for the example. It is made at the first start. */
function readHandlerSecret({ path }: DataFolder): string {
  const file = join(path, 'handler-secret.json')
  if (!existsSync(file)) writePrivateFile(file, `whsec_${randomBytes(32).toString('base64')}`)
  return JSON.parse(readFileSync(file, 'utf8')) as string
}
