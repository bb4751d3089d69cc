import type { DataFolder } from './data-folder.ts'
import type { DevelopmentSecrets } from './development-secrets.ts'
import type { ListenAddress, ListenAddresses } from './listen-addresses.ts'

/** What the environments of the services are made of. */
export interface SystemSettings {
  /** The user's own environment, which wins over every default. */
  readonly env: NodeJS.ProcessEnv
  readonly secrets: DevelopmentSecrets
  readonly data: DataFolder
  readonly mongoUri: string
  readonly addresses: ListenAddresses
}

type Environment = Record<string, string>

/** The environment variable by which the gateway gets the development secret of a provider. */
function providerSecretVariable(provider: string): string {
  return `ONCEHOOK_${provider.toUpperCase()}_SECRET`
}

/** `PROVIDERS` as the file of a development system holds it: secrets by reference, so that it can be edited and shown. */
export function toProvidersFile({ providers }: DevelopmentSecrets): Record<string, unknown> {
  const entries = Object.entries(providers).map(([name, settings]) => {
    const secrets = settings.secrets.map(({ id }) => ({ id, value: { env: providerSecretVariable(name) } }))
    return [name, { ...settings, secrets }]
  })
  return Object.fromEntries(entries)
}

/** The environment of the gateway: what the user set, and a default for whatever a development system needs beside it. */
export function gatewayEnvironment(settings: SystemSettings): NodeJS.ProcessEnv {
  const { secrets, data, mongoUri, addresses } = settings
  const providerSecrets = Object.entries(secrets.providers).map(([name, { secrets: list }]) => [
    providerSecretVariable(name),
    list[0]?.value ?? '',
  ])
  return withDefaults(settings.env, {
    MONGODB_URI: mongoUri,
    FULFILMENT_URL: addresses.fulfilment.url,
    ...serviceTokenKey(settings),
    API_TOKENS: JSON.stringify(secrets.apiTokens),
    OPERATOR_TOKENS: JSON.stringify(secrets.operatorTokens),
    ...(isSet(settings.env, 'PROVIDERS') ? {} : { PROVIDERS_FILE: data.providers }),
    ...Object.fromEntries(providerSecrets),
    ...place('GATEWAY', addresses.gateway),
    ...place('ADMIN', addresses.admin),
    // Test events may do what real ones do only where nobody else can send one.
    ...(isOwn(settings) ? { TEST_EVENTS: 'apply' } : {}),
  })
}

function isOwn({ env, addresses: { gateway, admin } }: SystemSettings): boolean {
  return env.NODE_ENV !== 'production' && [gateway, admin].every(({ host }) => host === '127.0.0.1')
}

/** The environment of fulfilment, in the same way. Receipts go to a file of the data folder. */
export function fulfilmentEnvironment(settings: SystemSettings): NodeJS.ProcessEnv {
  const { data, mongoUri, addresses } = settings
  return withDefaults(settings.env, {
    MONGODB_URI: mongoUri,
    ...serviceTokenKey(settings),
    RECEIPT_SINK: `file:${data.receipts}`,
    ...place('FULFILMENT', addresses.fulfilment),
  })
}

/** The secret of service tokens, unless the user set a list of keys instead. */
function serviceTokenKey({ env, secrets }: SystemSettings): Environment {
  return isSet(env, 'SERVICE_TOKEN_SECRETS') ? {} : { SERVICE_TOKEN_SECRET: secrets.serviceTokenSecret }
}

/** Whether the user set this setting, itself or by `NAME_FILE`. */
export function isSet(env: NodeJS.ProcessEnv, name: string): boolean {
  return Boolean(env[name]) || Boolean(env[`${name}_FILE`])
}

function place(service: string, { host, port }: ListenAddress): Environment {
  return { [`${service}_HOST`]: host, [`${service}_PORT`]: String(port) }
}

function withDefaults(env: NodeJS.ProcessEnv, defaults: Environment): NodeJS.ProcessEnv {
  const missing = Object.entries(defaults).filter(([name]) => !isSet(env, name) || name.endsWith('_PORT'))
  return { ...env, ...Object.fromEntries(missing) } // a port that the user left to the system (0) is known by now
}
