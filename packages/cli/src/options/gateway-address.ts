import type { Command } from 'commander'
import type { CliContext } from '../cli-context.ts'
import { CommandFailure, UsageError } from '../exit-code.ts'
import { findLocalSystem, type LocalSystem, nothingRuns } from './local-system.ts'
import { readUrl } from './option-values.ts'
import { addSecretOptions, readSecret } from './read-secret.ts'

/** The options that select a gateway for a command that calls the public API. */
export interface GatewayOptions {
  readonly url?: string
  readonly token?: string
  readonly tokenFile?: string
  readonly tokenEnv?: string
}

/** A gateway and the right to call its orders API. */
export interface GatewayAddress {
  /** Without a trailing slash. */
  readonly url: string
  readonly token: string
}

/** Adds the option `--url`. */
export function addUrlOption(command: Command): Command {
  return command.option('--url <url>', 'public URL of the gateway (default: the local one)', readUrl)
}

/** Gives a command the options of `GatewayOptions`. */
export function addGatewayOptions(command: Command): Command {
  return addSecretOptions(addUrlOption(command), 'token', 'a bearer token for /api/orders')
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
  return { url, token }
}

/** The URL to which a provider delivers. */
export function toWebhookUrl(gatewayUrl: string, provider: string): string {
  return `${gatewayUrl}/api/webhooks/${encodeURIComponent(provider)}`
}
