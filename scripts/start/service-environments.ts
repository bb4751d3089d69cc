import type { DataFolder } from './data-folder.ts'
import type { DevelopmentSecrets } from './development-secrets.ts'
import type { ListenAddress, ListenAddresses } from './listen-addresses.ts'

/** The values that the environments of the services are made from. */
export interface SystemSettings {
  /** The user's own environment, which overrides every default. */
  readonly env: NodeJS.ProcessEnv
  readonly secrets: DevelopmentSecrets
  readonly data: DataFolder
  readonly mongoUri: string
  readonly addresses: ListenAddresses
}

type Environment = Record<string, string>

/** The environment variable that gives the gateway the development secret of a provider. */
function providerSecretVariable(provider: string): string {
  return `ONCEHOOK_${provider.toUpperCase()}_SECRET`
}

/** These variables, and whose secret each of them contains. */
export function secretVariables({ providers }: DevelopmentSecrets): Record<string, string> {
  return Object.fromEntries(Object.keys(providers).map((name) => [providerSecretVariable(name), name]))
}

/**
 * `PROVIDERS`, as the file of a development system contains it. Secrets are references, so the file can be edited and
 * shown.
 */
export function toProvidersFile({ providers }: DevelopmentSecrets): Record<string, unknown> {
  const entries = Object.entries(providers).map(([name, settings]) => {
    const secrets = settings.secrets.map(({ id }) => ({ id, value: { env: providerSecretVariable(name) } }))
    return [name, { ...settings, secrets }]
  })
  return Object.fromEntries(entries)
}

/** The environment of the gateway: the user's settings, and defaults for all else that a development system needs. */
export function gatewayEnvironment(settings: SystemSettings): NodeJS.ProcessEnv {
  const { secrets, data, mongoUri, addresses } = settings
  const providerSecrets = Object.entries(secrets.providers).map(([name, { secrets: list }]) => [
    providerSecretVariable(name),
    list[0]?.value ?? '',
  ])
  return withDefaults(settings.env, {
    MONGODB_URI: mongoUri,
    FULFILMENT_URL: addresses.fulfilment.url,
    SERVICE_PRIVATE_KEY: secrets.serviceKeys.privateKey,
    API_TOKENS: JSON.stringify(secrets.apiTokens),
    OPERATOR_TOKENS: JSON.stringify(secrets.operatorTokens),
    ...(isSet(settings.env, 'PROVIDERS') ? {} : { PROVIDERS_FILE: data.providers }),
    ...Object.fromEntries(providerSecrets),
    ...place('GATEWAY', addresses.gateway),
    ...place('ADMIN', addresses.admin),
    // Test events may have the effects of real ones only where nobody else can send one.
    ...(isOwn(settings) ? { TEST_EVENTS: 'apply' } : {}),
  })
}

function isOwn({ env, addresses: { gateway, admin } }: SystemSettings): boolean {
  return env.NODE_ENV !== 'production' && [gateway, admin].every(({ host }) => host === '127.0.0.1')
}

/** The environment of fulfilment, built in the same way. Receipts are written to a file in the data folder. */
export function fulfilmentEnvironment(settings: SystemSettings): NodeJS.ProcessEnv {
  const { secrets, data, mongoUri, addresses } = settings
  return withDefaults(settings.env, {
    MONGODB_URI: mongoUri,
    SERVICE_PUBLIC_KEYS: secrets.serviceKeys.publicKey,
    RECEIPT_SINK: `file:${data.receipts}`,
    ...place('FULFILMENT', addresses.fulfilment),
  })
}

/** Whether the user set this setting, directly or with `NAME_FILE`. */
export function isSet(env: NodeJS.ProcessEnv, name: string): boolean {
  return Boolean(env[name]) || Boolean(env[`${name}_FILE`])
}

function place(service: string, { host, port }: ListenAddress): Environment {
  return { [`${service}_HOST`]: host, [`${service}_PORT`]: String(port) }
}

function withDefaults(env: NodeJS.ProcessEnv, defaults: Environment): NodeJS.ProcessEnv {
  const missing = Object.entries(defaults).filter(([name]) => !isSet(env, name) || name.endsWith('_PORT'))
  return { ...env, ...Object.fromEntries(missing) } // if the user set port 0, the actual port is known by now
}
