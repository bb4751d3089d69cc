import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { takeLock } from '../processes/process-lock.mjs'
import { type Say, withProgress } from '../progress.ts'
import { type DataFolder, openDataFolder } from './data-folder.ts'
import { openDatabase } from './database.ts'
import { describeSystem } from './describe-system.ts'
import { readDevelopmentSecrets } from './development-secrets.ts'
import { chooseAddresses, chooseMongoPort } from './listen-addresses.ts'
import { describeNextStep } from './next-step.ts'
import {
  fulfilmentEnvironment,
  gatewayEnvironment,
  isSet,
  type SystemSettings,
  toProvidersFile,
} from './service-environments.ts'
import { startService } from './service-process.ts'
import { createSignInLink } from './sign-in-link.ts'
import type { StopSignals } from './stop-signals.ts'
import { writePrivateFile } from './write-private-file.ts'

/** The options of `npm start`. */
export interface SystemOptions {
  readonly repository: string
  readonly env: NodeJS.ProcessEnv
  readonly say: Say
  readonly signals: StopSignals
  /** Paths of the programs of the two services. */
  readonly programs: { readonly gateway: string; readonly fulfilment: string }
  /** Starts the parts of an example. */
  readonly example?: StartExample
}

/** A part of the system that runs. */
interface Part {
  readonly name: string
  /** Aborted with a reason when the part ends. */
  readonly ended: AbortSignal
  /** Ends it in order, or kills it after `graceMs`. Returns whether it was not killed. */
  readonly stop: (graceMs: number, hurry: AbortSignal) => Promise<boolean>
}

/** What an example gets from the system in which it runs. */
export interface ExampleSurroundings {
  readonly data: DataFolder
  readonly mongoUri: string
  readonly say: Say
  /** Aborted when the system is asked to stop. */
  readonly signal: AbortSignal
  /** Adds a part as soon as it runs, so that it is stopped even if the next one cannot start. */
  readonly add: (part: Part) => void
}

/**
 * Starts an example when MongoDB runs, before the services. Returns the lines that say what to do next, instead of those about
 * a payment.
 */
type StartExample = (surroundings: ExampleSurroundings) => Promise<readonly string[]>

// When each part must have ended, in milliseconds after the request to stop. The parts stop in this order, all within
// ten seconds.
const GONE_BY_MS: Readonly<Record<string, number>> = {
  'the gateway': 5_000,
  fulfilment: 7_000,
  'the example': 8_000,
  PostgreSQL: 9_000,
  MongoDB: 9_500,
}

/**
 * Runs the whole system until it is asked to stop or a part of it ends. Then stops what it started, in this order:
 * gateway, fulfilment, example, MongoDB. Returns the exit code: 0 if it was asked to stop and every part stopped in order.
 */
export async function runSystem(options: SystemOptions): Promise<number> {
  const { say, signals } = options
  const data = openDataFolder(options.repository, options.env)
  const lock = takeLock(data.lock)
  if ('heldBy' in lock) {
    say(`Oncehook is already running in ${data.path} (process ${lock.heldBy}): stop it first,`)
    say('or give this one its own folder and ports (ONCEHOOK_DATA, GATEWAY_PORT, ADMIN_PORT, FULFILMENT_PORT)')
    return 1
  }
  const parts: Part[] = []
  let code = 0
  try {
    await start(options, { ...data, afterKill: lock.takenOver }, parts)
    throw await firstEnd([signals.stop, ...parts.map(({ ended }) => ended)])
  } catch (error) {
    if (!signals.stop.aborted) {
      code = 1
      say(error instanceof Error ? error.message : String(error))
    }
  }
  rmSync(data.running, { force: true })
  if (!(await stopAll(parts, options))) code = 1
  lock.release()
  return code
}

async function start(options: SystemOptions, data: DataFolder & { afterKill: boolean }, parts: Part[]): Promise<void> {
  const { env, say, signals, programs } = options
  const ports = { env, say, afterKill: data.afterKill }
  const addresses = await chooseAddresses(ports)
  const mongoPort = await chooseMongoPort(ports, addresses)
  const secrets = readDevelopmentSecrets(data.secrets, randomBytes)
  if (!existsSync(data.providers)) writePrivateFile(data.providers, toProvidersFile(secrets))
  const database = await openDatabase(data, { env, say, signal: signals.stop, port: mongoPort })
  parts.push({ name: 'MongoDB', ...database })
  const surroundings = { data, mongoUri: database.uri, say, signal: signals.stop }
  const next = await options.example?.({ ...surroundings, add: (part) => void parts.push(part) })
  const settings: SystemSettings = { env, secrets, data, addresses, mongoUri: database.uri }
  const services = [
    {
      name: 'fulfilment',
      script: programs.fulfilment,
      env: fulfilmentEnvironment(settings),
      listener: addresses.fulfilment,
    },
    { name: 'the gateway', script: programs.gateway, env: gatewayEnvironment(settings), listener: addresses.admin },
  ]
  for (const { name, listener, ...program } of services) {
    const logFile = join(data.logs, `${name.replace('the ', '')}.log`)
    const service = startService({ ...program, name, logFile, readyUrl: `${listener.url}/readyz`, say })
    parts.push({ name, ...service })
    await withProgress(say, `Starting ${name}`, service.ready(signals.stop))
  }
  const token = isSet(env, 'OPERATOR_TOKENS') ? undefined : Object.values(secrets.operatorTokens)[0]
  const link = token === undefined ? null : await createSignInLink({ adminUrl: addresses.admin.url, token, fetch })
  const found = { mongo: database.shown, link, next: next ?? describeNextStep(settings) }
  const description = describeSystem(settings, found)
  writePrivateFile(data.running, description.running)
  for (const line of description.lines) say(line)
}

async function firstEnd(signals: AbortSignal[]): Promise<unknown> {
  const any = AbortSignal.any(signals)
  if (!any.aborted) await once(any, 'abort')
  return any.reason
}

async function stopAll(parts: readonly Part[], { say, signals }: SystemOptions): Promise<boolean> {
  const started = performance.now()
  const living = parts.filter(({ ended }) => !ended.aborted).reverse()
  if (living.length > 0) say(`Stopping ${living.map(({ name }) => name).join(', then ')} (Ctrl-C again: at once) …`)
  let orderly = true
  for (const { name, stop } of living) {
    const graceMs = Math.max(0, Math.round((GONE_BY_MS[name] ?? 0) - (performance.now() - started)))
    const byItself = await stop(graceMs, signals.hurry)
    if (!byItself) say(`Killed ${name}, which had not finished`)
    orderly &&= byItself
  }
  say('Stopped')
  return orderly
}
