import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { makeDevelopmentSecrets } from './development-secrets.ts'
import {
  fulfilmentEnvironment,
  gatewayEnvironment,
  type SystemSettings,
  toProvidersFile,
} from './service-environments.ts'

const address = (port: number) => ({ host: '127.0.0.1', port, url: `http://127.0.0.1:${port}` })
const file = (name: string) => `/data/${name}`

function settings(env: NodeJS.ProcessEnv): SystemSettings {
  return {
    env,
    secrets: makeDevelopmentSecrets(randomBytes),
    mongoUri: 'mongodb://127.0.0.1:27117/?replicaSet=rs0',
    addresses: { gateway: address(1), admin: address(2), fulfilment: address(3) },
    data: {
      path: '/data',
      lock: file('start.lock'),
      running: file('running.json'),
      secrets: file('secrets.json'),
      providers: file('providers.json'),
      receipts: file('receipts.jsonl'),
      logs: file('logs'),
      mongo: file('mongo'),
    },
  }
}

describe('the environments of the services', () => {
  it('share the database, and each has its own half of the key pair', () => {
    const system = settings({})
    const gateway = gatewayEnvironment(system)
    const fulfilment = fulfilmentEnvironment(system)
    expect(gateway).toMatchObject({
      MONGODB_URI: system.mongoUri,
      FULFILMENT_URL: 'http://127.0.0.1:3',
      GATEWAY_PORT: '1',
      ADMIN_PORT: '2',
    })
    expect(fulfilment).toMatchObject({ RECEIPT_SINK: 'file:/data/receipts.jsonl', FULFILMENT_PORT: '3' })
    expect(gateway.SERVICE_PRIVATE_KEY).toBe(system.secrets.serviceKeys.privateKey)
    expect(fulfilment.SERVICE_PUBLIC_KEYS).toBe(system.secrets.serviceKeys.publicKey)
    expect(fulfilment).not.toHaveProperty('SERVICE_PRIVATE_KEY')
    expect(fulfilment).not.toHaveProperty('API_TOKENS')
    expect(JSON.parse(gateway.API_TOKENS ?? '')).toEqual(system.secrets.apiTokens)
  })

  it('give the gateway each provider secret under the name in the providers file', () => {
    const system = settings({})
    const gateway = gatewayEnvironment(system)
    const providers = toProvidersFile(system.secrets)
    expect(providers.acme).toEqual({
      scheme: 'standard-webhooks',
      effects: ['payment.succeeded', 'payment.failed'],
      secrets: [{ id: 'development', value: { env: 'ONCEHOOK_ACME_SECRET' } }],
    })
    expect(gateway.PROVIDERS_FILE).toBe('/data/providers.json')
    expect(gateway.ONCEHOOK_ACME_SECRET).toBe(system.secrets.providers.acme?.secrets[0]?.value)
    expect(JSON.stringify(providers)).not.toContain(gateway.ONCEHOOK_ACME_SECRET)
  })

  it.each([
    [{ SERVICE_PRIVATE_KEY_FILE: '/run/key' }, 'SERVICE_PRIVATE_KEY'],
    [{ PROVIDERS: '{}' }, 'PROVIDERS_FILE'],
    [{ MONGODB_URI_FILE: '/run/uri' }, 'MONGODB_URI'],
  ])('keep the settings of the user: %j', (env, untouched) => {
    expect(gatewayEnvironment(settings(env))).toMatchObject(env)
    expect(gatewayEnvironment(settings(env))).not.toHaveProperty(untouched)
  })

  it('let the user win over a default', () => {
    expect(fulfilmentEnvironment(settings({ RECEIPT_SINK: 'log:' })).RECEIPT_SINK).toBe('log:')
    expect(gatewayEnvironment(settings({ FULFILMENT_URL: 'http://10.0.0.1' })).FULFILMENT_URL).toBe('http://10.0.0.1')
  })
})
