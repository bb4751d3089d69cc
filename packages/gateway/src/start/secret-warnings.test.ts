import { describe, expect, it } from 'vitest'
import { findSecretWarnings } from './secret-warnings.ts'

const one = 'canary-q7Zt0hXv2MZb4w9Lr1Yc8Ks6Dn3Fj5Gp'
const two = 'canary-Xw0pQ4sVb9Tn2Lc7Hd5Jk8Rm1Yf6Zg3A'

function settings({ service = 'canary-the-service-secret-of-this-test-1', api = {}, operators = {}, providers = {} }) {
  return {
    SERVICE_TOKEN_SECRET: service,
    API_TOKENS: JSON.stringify(api),
    OPERATOR_TOKENS: JSON.stringify(operators),
    PROVIDERS: JSON.stringify(providers),
  }
}

const provider = (...secrets: unknown[]) => ({
  scheme: 'stripe',
  secrets: secrets.map((value, id) => ({ id: String(id), value })),
})

describe('findSecretWarnings', () => {
  it.each<[string, NodeJS.ProcessEnv, string[]]>([
    [
      'two providers',
      settings({ providers: { a: provider(one), b: provider(two, `whsec_${one}`) } }),
      ['PROVIDERS.a.secrets.0', 'PROVIDERS.b.secrets.1'],
    ],
    [
      'a provider and the services',
      { OTHER: one, ...settings({ service: one, providers: { a: provider({ env: 'OTHER' }) } }) },
      ['SERVICE_TOKEN_SECRET', 'PROVIDERS.a.secrets.0'],
    ],
    [
      'a caller and an operator',
      settings({
        api: { shop: one },
        operators: { alice: { tokens: [{ value: two }, { value: one }], roles: ['read'] } },
      }),
      ['API_TOKENS.shop', 'OPERATOR_TOKENS.alice'],
    ],
    [
      'the services, in a list, and the token by which a provider is asked',
      {
        ...settings({ providers: { a: { ...provider(two), fetch: { baseUrl: 'https://a.example', token: one } } } }),
        SERVICE_TOKEN_SECRET: undefined,
        SERVICE_TOKEN_SECRETS: JSON.stringify([`${one}-new`, one]),
      },
      ['SERVICE_TOKEN_SECRETS.1', 'PROVIDERS.a.fetch.token'],
    ],
  ])('names both places of a secret of %s, and no value', (_, env, places) => {
    const found = findSecretWarnings(env)
    expect(found).toEqual([{ event: 'secret.shared', places }])
    expect(JSON.stringify(found)).not.toContain('canary')
  })

  it('names tokens and secrets of the services that can be guessed', () => {
    const env = settings({ service: 'abab'.repeat(8), api: { shop: 'abcdefgh'.repeat(4), desk: one } })
    expect(findSecretWarnings(env)).toEqual([
      { event: 'secret.weak', places: ['SERVICE_TOKEN_SECRET'] },
      { event: 'secret.weak', places: ['API_TOKENS.shop'] },
    ])
  })

  it('ignores different secrets, public keys, and texts that cannot be read', () => {
    const shared = 'whpk_MCowBQYDK2VwAyEAcanary'
    const providers = { a: provider(shared, one), b: provider(shared, { file: '/nowhere' }) }
    expect(findSecretWarnings(settings({ providers, api: { shop: two } }))).toEqual([])
    expect(findSecretWarnings({ ...settings({}), API_TOKENS: '[', PROVIDERS: '{"a":7}' })).toEqual([])
  })
})
