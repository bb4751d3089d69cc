import { describe, expect, it } from 'vitest'
import { findSecretWarnings } from './secret-warnings.ts'

const one = 'canary-q7Zt0hXv2MZb4w9Lr1Yc8Ks6Dn3Fj5Gp'
const two = 'canary-Xw0pQ4sVb9Tn2Lc7Hd5Jk8Rm1Yf6Zg3A'

function settings({ api = {}, operators = {}, providers = {} }) {
  return {
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
      'a provider and a caller',
      { OTHER: one, ...settings({ api: { shop: one }, providers: { a: provider({ env: 'OTHER' }) } }) },
      ['API_TOKENS.shop', 'PROVIDERS.a.secrets.0'],
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
      'a caller, and the token by which a provider is asked',
      settings({
        api: { shop: one },
        providers: { a: { ...provider(two), fetch: { baseUrl: 'https://a.example', token: one } } },
      }),
      ['API_TOKENS.shop', 'PROVIDERS.a.fetch.token'],
    ],
  ])('names both places of a secret of %s, and no value', (_, env, places) => {
    const found = findSecretWarnings(env)
    expect(found).toEqual([{ event: 'secret.shared', places }])
    expect(JSON.stringify(found)).not.toContain('canary')
  })

  it('names tokens that can be guessed', () => {
    const env = settings({ api: { shop: 'abcdefgh'.repeat(4), desk: one } })
    expect(findSecretWarnings(env)).toEqual([{ event: 'secret.weak', places: ['API_TOKENS.shop'] }])
  })

  it('ignores different secrets, public keys, and texts that cannot be read', () => {
    const shared = 'whpk_MCowBQYDK2VwAyEAcanary'
    const providers = { a: provider(shared, one), b: provider(shared, { file: '/nowhere' }) }
    expect(findSecretWarnings(settings({ providers, api: { shop: two } }))).toEqual([])
    expect(findSecretWarnings({ ...settings({}), API_TOKENS: '[', PROVIDERS: '{"a":7}' })).toEqual([])
  })
})
