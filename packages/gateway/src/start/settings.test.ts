import { createPrivateKey } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newServiceKeyPair } from '@oncehook/kernel/testing/service-key-pair'
import { settingsProblems } from '@oncehook/kernel/testing/settings-problems'
import { describe, expect, it } from 'vitest'
import { hmacProvider } from '../testing/hmac-provider.ts'
import { readGatewaySettings } from './settings.ts'

const token = 'canary-token-0123456789-0123456789-abc'
const SERVICE_PRIVATE_KEY = newServiceKeyPair().privateKey
const PROVIDERS = JSON.stringify({ acme: hmacProvider({ id: 'a', value: 'canary-secret-0123456789' }) })
const needed = { MONGODB_URI: 'mongodb://user:canary@127.0.0.1/', SERVICE_PRIVATE_KEY, PROVIDERS }

const problemsOf = (env: NodeJS.ProcessEnv) => settingsProblems(() => readGatewaySettings(env))

describe('readGatewaySettings', () => {
  it('needs three settings and has a default for every other', () => {
    const settings = readGatewaySettings(needed)
    expect(settings).toMatchObject({
      GATEWAY_HOST: '127.0.0.1',
      GATEWAY_PORT: 8080,
      ADMIN_HOST: '127.0.0.1',
      ADMIN_PORT: 8081,
      GATEWAY_DB: 'oncehook_gateway',
      MAX_WEBHOOK_BYTES: 1_048_576,
      MAX_BODY_BYTES: 262_144,
      SIGNATURE_TOLERANCE_SECONDS: 300,
      EVENT_RETENTION_DAYS: 90,
      LEASE_MS: 20_000,
      RETRY_BASE_MS: 2_000,
      RETRY_CAP_MS: 900_000,
      RETRY_MAX_AGE_MS: 259_200_000,
      MAX_CRASHES: 8,
      WORKERS: 1,
      LOG_LEVEL: 'info',
    })
    expect(settings.FULFILMENT_URL.href).toBe('http://127.0.0.1:8090/')
    expect([...settings.providers.read().keys()]).toEqual(['acme'])
    expect(settings.API_TOKENS.size).toBe(0)
  })

  it.each([
    [{ GATEWAY_HOST: '0.0.0.0' }, 'can be apply only if GATEWAY_HOST and ADMIN_HOST are loopback addresses'],
    [{ ADMIN_HOST: '10.0.0.1' }, 'can be apply only if GATEWAY_HOST and ADMIN_HOST are loopback addresses'],
    [{ GATEWAY_HOST: '::' }, 'can be apply only if GATEWAY_HOST and ADMIN_HOST are loopback addresses'],
    [{ NODE_ENV: 'production' }, 'cannot be apply if NODE_ENV is production'],
  ])('refuses test events with effects outside of a development system: %o', (env, problem) => {
    const own = { ...needed, TEST_EVENTS: 'apply', GATEWAY_HOST: 'localhost', ADMIN_HOST: '::1' }
    expect(readGatewaySettings(own).TEST_EVENTS).toBe('apply')
    expect(problemsOf({ ...own, ...env })).toEqual([`TEST_EVENTS ${problem}`])
    expect(problemsOf({ ...needed, ...env })).toEqual([])
  })

  it.each(['0', '65', 'all'])('refuses %j as the number of workers and names auto', (WORKERS) => {
    expect(problemsOf({ ...needed, WORKERS })).toEqual(['WORKERS must be a whole number from 1 to 64, or auto'])
  })

  it.each([
    ['auto', 'auto'],
    [' 64 ', 64],
  ])('takes %j as the number of workers', (WORKERS, expected) => {
    expect(readGatewaySettings({ ...needed, WORKERS }).WORKERS).toBe(expected)
  })

  it.each([
    ['', []],
    ['hooks.example, Gateway', ['hooks.example', 'gateway']],
  ])('takes %j as the names of the private listeners', (PRIVATE_NAMES, expected) => {
    expect([...readGatewaySettings({ ...needed, PRIVATE_NAMES }).PRIVATE_NAMES]).toEqual(expected)
  })

  it.each(['hooks.example:8081', 'https://hooks.example', 'hooks example', 'hooks.example/'])(
    'refuses %j as the name of a private listener',
    (PRIVATE_NAMES) => {
      expect(problemsOf({ ...needed, PRIVATE_NAMES })).toEqual([
        'PRIVATE_NAMES must be names of hosts without ports, like hooks.example',
      ])
    },
  )

  it('names what is missing, all at once', () => {
    expect(problemsOf({})).toEqual(['MONGODB_URI is not set', 'SERVICE_PRIVATE_KEY is not set', 'PROVIDERS is not set'])
  })

  it('names problems of settings, tokens and providers at once, and quotes no value', () => {
    const problems = problemsOf({
      MONGODB_URI: 'http://user:canary@127.0.0.1/',
      SERVICE_PRIVATE_KEY: 'canary',
      PROVIDERS: PROVIDERS.replace('canary-secret-0123456789', 'canary'),
      FULFILMENT_URL: 'ftp://canary',
      GATEWAY_PORT: 'canary',
      DISPATCH_CONCURRENCY: '65',
      LOG_LEVEL: 'canary',
      API_TOKENS: '{"shop":"canary"}',
      OPERATOR_TOKENS: '["canary"]',
    })
    for (const name of [
      ...['MONGODB_URI', 'SERVICE_PRIVATE_KEY', 'PROVIDERS', 'FULFILMENT_URL', 'GATEWAY_PORT'],
      ...['DISPATCH_CONCURRENCY', 'LOG_LEVEL', 'API_TOKENS', 'OPERATOR_TOKENS'],
    ]) {
      expect(problems.filter((problem) => problem.startsWith(name))).toHaveLength(1)
    }
    expect(problems.join('\n')).not.toContain('canary')
  })

  it('reads values from files, including those of the providers', () => {
    const folder = mkdtempSync(join(tmpdir(), 'oncehook-'))
    try {
      const path = (name: string, text: string): string => {
        writeFileSync(join(folder, name), text)
        return join(folder, name)
      }
      const env = {
        MONGODB_URI_FILE: path('uri', `${needed.MONGODB_URI}\n`),
        SERVICE_PRIVATE_KEY_FILE: path('key', SERVICE_PRIVATE_KEY),
        PROVIDERS_FILE: path(
          'providers',
          JSON.stringify({
            acme: { scheme: 'stripe', secrets: [{ id: 'a', value: { file: path('acme', 'whsec_canary_canary\n') } }] },
          }),
        ),
      }
      const settings = readGatewaySettings(env)
      expect(settings.MONGODB_URI.reveal()).toBe(needed.MONGODB_URI)
      expect(settings.serviceKey.read().equals(createPrivateKey(SERVICE_PRIVATE_KEY))).toBe(true)
      expect(settings.providers.read().get('acme')?.scheme).toBe('stripe')
      expect(problemsOf({ ...env, PROVIDERS })).toEqual(['PROVIDERS is set twice: as PROVIDERS and by PROVIDERS_FILE'])
      expect(problemsOf({ ...env, PROVIDERS_FILE: join(folder, 'absent') })).toEqual([
        'PROVIDERS_FILE cannot be read (ENOENT)',
      ])
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it.each(['', 'a b/$', 'a.b', 'a\0b', 'x'.repeat(64), 'ü'.repeat(32)])(
    'refuses a database that cannot be: %j',
    (name) => {
      expect(problemsOf({ ...needed, GATEWAY_DB: name })).toEqual([expect.stringMatching(/^GATEWAY_DB is/)])
      expect(problemsOf({ ...needed, GATEWAY_DB: 'oncehook-2_ü' })).toEqual([])
    },
  )

  it.each([
    ['no JSON', 'shop', 'API_TOKENS is not valid JSON'],
    ['a list', `["${token}"]`, 'API_TOKENS must be a JSON object of names and tokens'],
    ['an empty token', '{"shop":""}', 'API_TOKENS has a token of shop that is empty'],
    [
      'one character repeated',
      `{"shop":"${'x'.repeat(32)}"}`,
      'API_TOKENS has a token of shop that is a sample placeholder',
    ],
    ['one token for two', `{"shop":"${token}","desk":"${token}"}`, 'API_TOKENS has the same token for shop and desk'],
  ])('refuses tokens that are %s', (_, API_TOKENS, problem) => {
    expect(problemsOf({ ...needed, API_TOKENS })).toEqual([problem])
  })

  describe('of an issuer of tokens for operators', () => {
    const GROUPS = '{"operators":["operate"],"readers":[]}'
    const issuer = {
      OPERATOR_ISSUER: 'https://login.example.com/realms/staff',
      OPERATOR_AUDIENCE: 'oncehook',
      OPERATOR_GROUPS: GROUPS,
    }

    it('are none by default', () => {
      expect(readGatewaySettings(needed).operatorIssuer).toBeNull()
    })

    it('are three, and two more that have defaults', () => {
      const read = (more: object) => readGatewaySettings({ ...needed, ...issuer, ...more }).operatorIssuer
      expect(read({})).toEqual({
        ...{ issuer: 'https://login.example.com/realms/staff', audience: 'oncehook', groupsClaim: 'groups' },
        groups: new Map([
          ['operators', new Set(['read', 'operate'])],
          ['readers', new Set()],
        ]),
        maxAgeSeconds: 7_200,
        signIn: { acrValues: [], amrValues: [] },
        client: null,
      })
      expect(read({ OPERATOR_ISSUER: 'http://127.0.0.1:8080/' })?.issuer).toBe('http://127.0.0.1:8080/')
      expect(
        read({ OPERATOR_GROUPS_CLAIM: '/realm_access/roles', OPERATOR_TOKEN_MAX_AGE_SECONDS: '300' }),
      ).toMatchObject({ ...{ groupsClaim: '/realm_access/roles', maxAgeSeconds: 300 } })
    })

    it('may make the gateway a client, with which operators sign in from the page', () => {
      const read = (more: object) =>
        readGatewaySettings({ ...needed, ...issuer, OPERATOR_CLIENT_ID: 'oncehook', ...more }).operatorIssuer
      expect(read({})?.client).toEqual({ id: 'oncehook', secret: null, scope: 'openid', audienceParameter: null })
      const OPERATOR_CLIENT_SECRET = 'Wm3-of-the-client-9f31'
      const more = {
        ...{ OPERATOR_CLIENT_SECRET, OPERATOR_SCOPES: 'openid profile' },
        ...{ OPERATOR_AUDIENCE: 'https://oncehook.example.com/operator', OPERATOR_AUDIENCE_PARAMETER: 'resource' },
      }
      const client = read(more)?.client
      expect(client).toMatchObject({ scope: 'openid profile', audienceParameter: 'resource' })
      expect(client?.secret?.reveal()).toBe(OPERATOR_CLIENT_SECRET)
      expect(JSON.stringify(client)).not.toContain(OPERATOR_CLIENT_SECRET)
      expect(read({ OPERATOR_AUDIENCE_PARAMETER: 'audience' })?.client?.audienceParameter).toBe('audience')
    })

    it.each([
      ['OPERATOR_CLIENT_ID', 'é', 'OPERATOR_CLIENT_ID must be 1 to 255 printable ASCII characters'],
      ['OPERATOR_CLIENT_SECRET', 'short', 'OPERATOR_CLIENT_SECRET is shorter than 16 characters'],
      ...['profile', 'openid  profile', 'openid "', 'openidx'].map((scopes) => [
        ...['OPERATOR_SCOPES', scopes],
        'OPERATOR_SCOPES must be scopes separated by spaces, with openid: OPERATOR_SCOPES=openid',
      ]),
      [
        ...['OPERATOR_AUDIENCE_PARAMETER', 'resource'],
        'OPERATOR_AUDIENCE_PARAMETER=resource needs an absolute URI without fragment in OPERATOR_AUDIENCE (RFC 8707)',
      ],
    ])('refuses the client setting %s %s', (name = '', value = '', problem = '') => {
      expect(problemsOf({ ...needed, ...issuer, OPERATOR_CLIENT_ID: 'oncehook', [name]: value })).toEqual([problem])
    })

    it.each([
      ['http://login.example.com'],
      ['https://login.example.com/?tenant=1'],
      ['https://user:canary@login.example.com'],
    ])('refuse the issuer %s', (OPERATOR_ISSUER) => {
      const problems = problemsOf({ ...needed, ...issuer, OPERATOR_ISSUER })
      expect(problems).toEqual([expect.stringMatching(/^OPERATOR_ISSUER must be an https URL/)])
      expect(problems[0]).not.toContain('canary')
    })

    it.each([
      ['no JSON', 'operators', 'OPERATOR_GROUPS is not valid JSON'],
      ...['{}', '[]', '{"a":"read"}', '{"a":["admin"]}', '{"":["read"]}'].map((json) => [
        json,
        json,
        'OPERATOR_GROUPS must name groups and their roles: OPERATOR_GROUPS={"oncehook-operators": ["read", "operate"]}',
      ]),
    ])('refuse groups that are %s', (_, OPERATOR_GROUPS, problem) => {
      expect(problemsOf({ ...needed, ...issuer, OPERATOR_GROUPS })).toEqual([problem])
    })

    it('show the line that is missing', () => {
      expect(problemsOf({ ...needed, OPERATOR_ISSUER: issuer.OPERATOR_ISSUER })).toEqual([
        'OPERATOR_AUDIENCE is not set: use the audience of the tokens, such as OPERATOR_AUDIENCE=oncehook',
        'OPERATOR_GROUPS must name groups and their roles: OPERATOR_GROUPS={"oncehook-operators": ["read", "operate"]}',
      ])
      expect(problemsOf({ ...needed, OPERATOR_AUDIENCE: 'oncehook', OPERATOR_GROUPS: GROUPS })).toEqual([
        'OPERATOR_AUDIENCE needs an issuer: set OPERATOR_ISSUER=https://login.example.com/realms/staff',
        'OPERATOR_GROUPS needs an issuer: set OPERATOR_ISSUER=https://login.example.com/realms/staff',
      ])
    })
  })

  it('gives no operator a prefix that the audit log uses for others', () => {
    const names = ['oidc:alice', 'api:shop', 'provider:acme', 'alice:api:']
    const OPERATOR_TOKENS = JSON.stringify(Object.fromEntries(names.map((name, n) => [name, `${token}${n}`])))
    const problem = (name: string, prefix: string, other: string): string =>
      `OPERATOR_TOKENS has the name ${name}: the audit log uses ${prefix} for others, so write ${other}`
    expect(problemsOf({ ...needed, OPERATOR_TOKENS })).toEqual([
      problem('oidc:alice', 'oidc:', 'oidc-alice'),
      problem('api:shop', 'api:', 'api-shop'),
      problem('provider:acme', 'provider:', 'provider-acme'),
    ])
  })

  it('shows no secret when it is printed', () => {
    const settings = readGatewaySettings({ ...needed, API_TOKENS: JSON.stringify({ shop: token }) })
    expect(JSON.stringify(settings)).not.toContain('canary')
  })
})
