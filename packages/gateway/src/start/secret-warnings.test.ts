import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { createTestAuthority } from '@oncehook/kernel/testing/certificates/issue-certificate'
import { newServiceKeyPair } from '@oncehook/kernel/testing/service-key-pair'
import { describe, expect, it } from 'vitest'
import { gatewaySchema, readGatewaySettings } from './settings.ts'

const authority = await createTestAuthority('authority')
const { cert, key: certified } = await authority.issue('gateway')
const serviceKey = newServiceKeyPair().privateKey
const random = (): string => randomBytes(32).toString('base64')
const text = random()

const usual = { MONGODB_URI: 'mongodb://127.0.0.1', SERVICE_PRIVATE_KEY: serviceKey, PROVIDERS: '{}' }

const warningsOf = (settings: Readonly<Record<string, string>>) =>
  readGatewaySettings({ ...usual, ...settings }).findSecretWarnings()

const provider = (more: object) =>
  JSON.stringify({ a: { effects: [], secrets: [{ id: '1', value: random() }], ...more } })
const fetch = (token: string) => ({ baseUrl: 'https://api.example', token })
const issuer = {
  ...{ OPERATOR_ISSUER: 'https://login.example', OPERATOR_AUDIENCE: 'oncehook', OPERATOR_CLIENT_ID: 'oncehook' },
  OPERATOR_GROUPS: '{"staff": ["read"]}',
}

interface Holder {
  readonly place: string
  /** The settings in which this place holds a secret. */
  readonly set: (secret: string) => Readonly<Record<string, string>>
  /** What it can hold, if it cannot hold any text. */
  readonly only?: string
}

/** Every place of the settings that holds a secret. */
const HOLDERS: readonly Holder[] = [
  { place: 'MONGODB_URI', set: (secret) => ({ MONGODB_URI: `mongodb://u:${encodeURIComponent(secret)}@127.0.0.1` }) },
  { place: 'API_TOKENS.shop', set: (secret) => ({ API_TOKENS: JSON.stringify({ shop: secret.trim() }) }) },
  { place: 'OPERATOR_TOKENS.alice', set: (secret) => ({ OPERATOR_TOKENS: JSON.stringify({ alice: secret.trim() }) }) },
  { place: 'OPERATOR_CLIENT_SECRET', set: (secret) => ({ ...issuer, OPERATOR_CLIENT_SECRET: secret.trim() }) },
  { place: 'SERVICE_PRIVATE_KEY', set: (secret) => ({ SERVICE_PRIVATE_KEY: secret }), only: serviceKey },
  { place: 'ADMIN_TLS_KEY', set: (secret) => ({ ADMIN_TLS_CERT: cert, ADMIN_TLS_KEY: secret }), only: certified },
  {
    place: 'FULFILMENT_TLS_CLIENT_KEY',
    set: (secret) => ({
      ...{ FULFILMENT_URL: 'https://fulfilment.example', FULFILMENT_TLS_CLIENT_CERT: cert },
      FULFILMENT_TLS_CLIENT_KEY: secret,
    }),
    only: certified,
  },
  { place: 'ENCRYPTION_KEYS.k', set: (secret) => ({ ENCRYPTION_KEYS: JSON.stringify({ k: secret }) }), only: text },
  {
    place: 'HANDLERS.crm.secrets.1',
    set: (secret) => {
      const secrets = [{ id: '1', value: `whsec_${secret}` }]
      return {
        HANDLERS: JSON.stringify({ crm: { https: 'https://crm.example', secrets, events: [{ types: ['*'] }] } }),
      }
    },
    only: text,
  },
  {
    place: 'PROVIDERS.a.secrets.1',
    set: (value) => ({ PROVIDERS: provider({ scheme: 'stripe', secrets: [{ id: '1', value: value.trim() }] }) }),
  },
  {
    place: 'PROVIDERS.a.fetch.token',
    set: (token) => ({ PROVIDERS: provider({ scheme: 'flutterwave', fetch: fetch(token) }) }),
    only: text,
  },
  {
    place: 'PROVIDERS.a.verifyToken',
    set: (verifyToken) => ({ PROVIDERS: provider({ scheme: 'meta', verifyToken }) }),
    only: text,
  },
]

/** Both are part of `PROVIDERS`, and so cannot be set apart. */
const isOneSetting = (one: Holder, other: Holder): boolean =>
  one.place.startsWith('PROVIDERS.') && other.place.startsWith('PROVIDERS.')

const PAIRS = HOLDERS.flatMap((one, at) => HOLDERS.slice(at + 1).map((other) => [one, other] as const)).flatMap(
  ([one, other]) => {
    const secret = one.only ?? other.only ?? text
    const isPossible = (other.only ?? secret) === secret && !isOneSetting(one, other)
    return isPossible ? [{ one, other, secret, name: `${one.place} and ${other.place}` }] : []
  },
)

describe('a secret in two settings', () => {
  it('is tried with every setting that can hold one', () => {
    const named = Object.keys(gatewaySchema.shape).filter((name) =>
      /SECRET|TOKEN|KEY|PROVIDERS|HANDLERS|URI/.test(name),
    )
    const tried = new Set(HOLDERS.map(({ place }) => place.split('.')[0]))
    expect(named.filter((name) => !tried.has(name))).toEqual(['OPERATOR_TOKEN_MAX_AGE_SECONDS'])
    const inPairs = new Set(PAIRS.flatMap(({ one, other }) => [one.place, other.place]))
    expect(HOLDERS.filter(({ place }) => !inPairs.has(place))).toEqual([])
  })

  it.each(PAIRS)('is named with both places, and not shown: $name', ({ one, other, secret }) => {
    const found = warningsOf({ ...one.set(secret), ...other.set(secret) })
    expect(found).toEqual([{ is: 'shared', places: [one.place, other.place].toSorted() }])
    expect(JSON.stringify(found)).not.toContain(secret.trim())
  })

  it('is found behind a file, a variable and another spelling, and within one setting', () => {
    const shared = { a: { scheme: 'stripe', effects: [], secrets: [{ id: '1', value: { env: 'OTHER' } }] } }
    const standard = [{ id: '0', value: `whsec_${text}` }]
    const providers = { ...shared, b: { scheme: 'standard-webhooks', effects: [], secrets: standard } }
    expect(warningsOf({ OTHER: text, PROVIDERS: JSON.stringify(providers) })).toEqual([
      { is: 'shared', places: ['PROVIDERS.a.secrets.1', 'PROVIDERS.b.secrets.0'] },
    ])
  })
})

describe('the secrets of settings', () => {
  it('may each be different, and public keys and names of accounts may be the same', () => {
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const value = publicKey.export({ type: 'spki', format: 'der' }).toString('base64')
    const sendgrid = { scheme: 'sendgrid', effects: [], secrets: [{ id: '1', value }] }
    const apple = { scheme: 'app-store', effects: [], secrets: [{ id: '1', value: 'com.example.shop' }] }
    const providers = { a: sendgrid, b: sendgrid, c: apple, d: { ...apple, sandbox: true } }
    expect(warningsOf({ PROVIDERS: JSON.stringify(providers), API_TOKENS: JSON.stringify({ shop: text }) })).toEqual([])
    const each = HOLDERS.map(({ set, only }) => set(only === undefined || only === text ? random() : only))
    const { ADMIN_TLS_KEY: _, ADMIN_TLS_CERT: __, ...all } = Object.assign({}, ...each)
    expect(warningsOf(all)).toEqual([])
  })

  it('are reported if they can be guessed and somebody sends them as tokens', () => {
    const tokens = { shop: 'abcdefgh'.repeat(4), desk: text }
    expect(warningsOf({ API_TOKENS: JSON.stringify(tokens) })).toEqual([{ is: 'weak', places: ['API_TOKENS.shop'] }])
  })
})
