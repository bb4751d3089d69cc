// Which gateway a command is about: the one in its options, else the one that `npm start` runs here. `npm start` writes its
// addresses to `running.json` in the data folder. Another gateway never gets the secrets of the local one.

import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { isLoopback } from '@oncehook/kernel/http/client'
import type { Command } from 'commander'
import { z } from 'zod'
import { type CliContext, CommandFailure, UsageError } from '../command.ts'
import { addSecretOptions, readSecret, readUrl, type SecretOptions } from './option-values.ts'

export interface GatewayOptions extends SecretOptions {
  readonly url?: string
  readonly insecureHttp?: boolean
}

/** A gateway and the right to call its orders API. */
export interface GatewayAddress {
  /** Without a trailing slash. */
  readonly url: string
  readonly token: string
}

export function addUrlOption(command: Command): Command {
  return command.option('--url <url>', 'public URL of the gateway (default: the local one)', readUrl)
}

export function addGatewayOptions(command: Command): Command {
  return addInsecureHttpOption(addSecretOptions(addUrlOption(command), 'token', 'a bearer token for /api/orders'))
}

export function addInsecureHttpOption(command: Command): Command {
  return command.option('--insecure-http', 'send the token to another machine although its URL is http')
}

/**
 * Refuses to send a token over http to another machine, because everybody on the way could read it.
 * @throws UsageError unless the user has asked for it
 */
export function protectToken(option: '--url' | '--admin-url', text: string, insecureHttp = false): void {
  const url = new URL(text)
  if (url.protocol === 'https:' || isLoopback(url) || insecureHttp) return
  throw new UsageError(
    `${option} is http on another machine, so the token could be read on the way: use https, or add --insecure-http if the network is safe`,
  )
}

/** The local system, or null if the command is about another gateway, which must not get the local secrets. */
export async function findAddressedSystem(dataFolder: string, url: string | undefined): Promise<LocalSystem | null> {
  const local = await findLocalSystem(dataFolder)
  return local !== null && (url === undefined || url === local.gatewayUrl) ? local : null
}

/**
 * The gateway to call.
 * @throws CommandFailure if none is given and none runs locally
 * @throws UsageError if one is given without a token
 */
export async function findGateway(
  options: GatewayOptions,
  { local, readEnv }: { local: LocalSystem | null; readEnv: CliContext['readEnv'] },
): Promise<GatewayAddress> {
  const url = options.url ?? local?.gatewayUrl
  if (url === undefined) throw new CommandFailure(`${nothingRuns}, or name a gateway with --url`)
  const token = (await readSecret('token', options, readEnv)) ?? local?.apiToken
  if (token === undefined)
    throw new UsageError('--url needs --token-file or --token-env: a bearer token for /api/orders')
  if (local === null) protectToken('--url', url, options.insecureHttp)
  return { url, token }
}

export function toWebhookUrl(gatewayUrl: string, provider: string): string {
  return `${gatewayUrl}/api/webhooks/${encodeURIComponent(provider)}`
}

const runningFile = z.object({
  gatewayUrl: z.url(),
  adminUrl: z.url(),
  secretsFile: z.string(),
  // Null if the setting is in the environment of `npm start`.
  providersFile: z.string().nullable(),
  // The variables of the gateway that hold development secrets, and whose.
  secretVariables: z.record(z.string(), z.string()),
  pid: z.int().positive(),
})

const secretsFile = z.object({
  apiTokens: z.record(z.string(), z.string()),
  operatorTokens: z.record(z.string(), z.string()),
  providers: z.record(z.string(), z.object({ secrets: z.array(z.object({ value: z.string() })) })),
})

/** The system that `npm start` runs on this machine, as far as a sender or an operator needs it. */
export interface LocalSystem {
  /** URLs without a trailing slash. */
  readonly gatewayUrl: string
  readonly adminUrl: string
  readonly apiToken: string | undefined
  readonly operatorToken: string | undefined
  readonly secretsFile: string
  /** The providers of its gateway; null if they are in the environment of `npm start`. */
  readonly providersFile: string | null
  /** The development secrets, by the variables that the providers file refers to. */
  readonly developmentSecrets: ReadonlyMap<string, string>
}

/** The message if no gateway is given and none runs locally. */
export const nothingRuns = 'Oncehook is not running here: start it with `npm start` in another terminal'

/**
 * The local system, or null if none runs: its file in the data folder is missing, or its process has ended.
 * @throws CommandFailure if its files cannot be read
 */
export async function findLocalSystem(dataFolder: string): Promise<LocalSystem | null> {
  const running = await readJsonFile(resolve(dataFolder, 'running.json'), runningFile)
  if (running === null || !isAlive(running.pid)) return null
  const path = resolve(dataFolder, running.secretsFile)
  const secrets = await readJsonFile(path, secretsFile)
  if (secrets === null) throw new CommandFailure('The file with the development secrets is missing: restart Oncehook')
  return {
    gatewayUrl: running.gatewayUrl.replace(/\/+$/, ''),
    adminUrl: running.adminUrl.replace(/\/+$/, ''),
    apiToken: Object.values(secrets.apiTokens)[0],
    operatorToken: Object.values(secrets.operatorTokens)[0],
    secretsFile: path,
    providersFile: running.providersFile === null ? null : resolve(dataFolder, running.providersFile),
    developmentSecrets: new Map(
      Object.entries(running.secretVariables).flatMap(([variable, provider]) => {
        const value = secrets.providers[provider]?.secrets[0]?.value
        return value === undefined ? [] : [[variable, value]]
      }),
    ),
  }
}

async function readJsonFile<T extends z.ZodType>(path: string, schema: T): Promise<z.infer<T> | null> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw new CommandFailure(`${path} cannot be read`, { cause: error })
  }
  try {
    return schema.parse(JSON.parse(text))
  } catch (error) {
    throw new CommandFailure(`${path} is not a file that \`npm start\` writes: restart Oncehook`, { cause: error })
  }
}

/** Signal 0 only checks for the process. EPERM means that the process belongs to another user. */
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
