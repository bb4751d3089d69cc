import { hash } from 'node:crypto'
import { settingsProblems } from '@oncehook/kernel/testing/settings-problems'
import { describe, expect, it } from 'vitest'
import {
  API_TOKEN_KIND,
  type ApiGrant,
  OPERATOR_TOKEN_KIND,
  readTokenHolders,
  type TokenHolders,
} from './authentication.ts'

const [one, other] = ['canary-token-0123456789-0123456789-one', 'canary-token-0123456789-0123456789-two']
const sources = {
  readEnv: (name: string) => (name === 'SHOP' ? other : undefined),
  readFile(path: string) {
    if (path !== '/shop') throw new Error('no such file')
    return `${one}\n`
  },
}

function apiTokens(entries: unknown): TokenHolders<ApiGrant> {
  return readTokenHolders({ name: 'API_TOKENS', json: JSON.stringify(entries), sources }, API_TOKEN_KIND)
}

const problemsOf = (entries: unknown) => settingsProblems(() => apiTokens(entries))

describe('readTokenHolders', () => {
  it('gives every right to a plain token', () => {
    expect([...apiTokens({ shop: one })]).toEqual([
      [
        hash('sha256', one),
        {
          name: 'shop',
          notAfter: null,
          grant: { scopes: new Set(['orders:read', 'orders:write', 'orders:delete']), own: false },
        },
      ],
    ])
  })

  it('gives several tokens of one principal the same rights, each with its own end', () => {
    const end = '2026-12-01T00:00:00Z'
    const tokens = [{ value: one, notAfter: end }, { value: other }]
    const holders = apiTokens({ shop: { tokens, scopes: ['orders:read'], own: true } })
    const grant = { scopes: new Set(['orders:read']), own: true }
    expect([...holders.values()]).toEqual([
      { name: 'shop', notAfter: Date.parse(end), grant },
      { name: 'shop', notAfter: null, grant },
    ])
  })

  it('reads tokens from files and variables', () => {
    const tokens = [{ value: { file: '/shop' } }, { value: { env: 'SHOP' } }]
    const holders = apiTokens({ shop: { tokens, scopes: [] } })
    expect([...holders.keys()]).toEqual([hash('sha256', one), hash('sha256', other)])
    expect(problemsOf({ shop: { file: '/absent' } })).toEqual(['API_TOKENS has a token of shop that cannot be read'])
  })

  it.each([
    ['no tokens', { tokens: [], scopes: [] }],
    ['no scopes', { tokens: [{ value: one }] }],
    ['an unknown scope', { tokens: [{ value: one }], scopes: ['orders:pay'] }],
    ['another property', { tokens: [{ value: one }], scopes: [], roles: [] }],
    ['an end that is no time', { tokens: [{ value: one, notAfter: 'tomorrow' }], scopes: [] }],
  ])('refuses an entry with %s, and shows the form', (_, entry) => {
    const [problem, ...more] = problemsOf({ shop: entry })
    expect(more).toEqual([])
    expect(problem).toBe(
      'API_TOKENS has an entry for shop that is not a token, or {"tokens": [{"value", "notAfter"?}], ' +
        '"scopes": ["orders:read", "orders:write", "orders:delete"], "own"?: true}',
    )
  })

  it('lets every role of an operator look', () => {
    const json = JSON.stringify({ alice: { tokens: [{ value: one }], roles: ['bodies'] }, bob: other })
    const holders = readTokenHolders({ name: 'OPERATOR_TOKENS', json, sources }, OPERATOR_TOKEN_KIND)
    expect([...holders.values()].map(({ grant }) => [...grant.roles])).toEqual([
      ['read', 'bodies'],
      ['read', 'operate', 'bodies', 'orders'],
    ])
  })
})
