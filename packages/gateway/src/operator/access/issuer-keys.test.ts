import { generateKeyPairSync } from 'node:crypto'
import { AppError } from '@oncehook/kernel/http/errors'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { type JWTPayload, SignJWT } from 'jose'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { AUDIENCE } from '../../testing/issuer/issuer-server.ts'
import { type OidcIssuer, startOidcIssuer } from '../../testing/issuer/oidc-issuer.ts'
import { type AccessTokens, createAccessTokens } from './access-token.ts'
import { COOL_DOWN_MS, createIssuerKeys, RETRY_MS } from './issuer-keys.ts'
import type { OperatorIssuer } from './operator-issuer.ts'

const GROUPS = new Map([['operators', new Set(['read'] as const)]])
const clock = { now: () => Date.now() }
const { logger, lines } = memoryLogger()
const ASKED = ['/.well-known/openid-configuration', '/jwks']

function openTokens(issuer: string, { fetch = globalThis.fetch, timeoutMs = 5_000 } = {}): AccessTokens {
  const rules: OperatorIssuer = {
    issuer,
    audience: AUDIENCE,
    groupsClaim: 'groups',
    groups: GROUPS,
    maxAgeSeconds: 600,
    signIn: { acrValues: [], amrValues: [] },
    client: null,
  }
  return createAccessTokens({
    ...{ issuer: rules, clock },
    keys: createIssuerKeys({ issuer, fetch, clock, logger, timeoutMs }).find,
  })
}

async function codeOf(call: Promise<unknown>): Promise<unknown> {
  const thrown = await call.catch((error: unknown) => error)
  return thrown instanceof AppError ? thrown.code : thrown
}

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })

/** A token that names a key that no issuer has. */
function forge(claims: JWTPayload, kid: string): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid }).sign(privateKey)
}

function pass(ms: number): void {
  vi.setSystemTime(Date.now() + ms)
}

describe('with a real issuer', () => {
  let issuer: OidcIssuer
  let tokens: AccessTokens
  beforeEach(async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    issuer = await startOidcIssuer({ alice: ['operators'] })
    tokens = openTokens(issuer.issuer)
  })
  afterEach(async () => {
    vi.useRealTimers()
    await issuer.stop()
  })
  const questions = () => issuer.asked.filter((path) => ASKED.includes(path))

  it('its tokens are taken, and its keys are asked for once', async () => {
    const token = await issuer.token('alice')
    const calls = Array.from({ length: 20 }, () => tokens(token))
    const [first] = await Promise.all(calls)
    expect(first).toMatchObject({ name: 'oidc:alice', roles: new Set(['read']), identity: { issuer: issuer.issuer } })
    expect(questions()).toEqual(ASKED)
  })

  it('a new key is valid as soon as a token names it, and the old one no longer', async () => {
    const old = await issuer.token('alice')
    await tokens(old)
    pass(COOL_DOWN_MS + 1)
    await issuer.rotateKeys()
    expect((await tokens(await issuer.token('alice'))).name).toBe('oidc:alice')
    expect(questions()).toEqual([...ASKED, ...ASKED])
    expect(await codeOf(tokens(old))).toBe('unauthenticated')
  })

  it('unknown keys are requested once in 30 seconds, whichever caller names them', async () => {
    await tokens(await issuer.token('alice'))
    const claims = { iss: issuer.issuer, aud: AUDIENCE }
    const ask = async () => {
      const forged = await Promise.all(Array.from({ length: 10 }, (_, n) => forge(claims, `key-${n}`)))
      for (const token of forged) expect(await codeOf(tokens(token))).toBe('unauthenticated')
    }
    await ask()
    expect(questions()).toEqual(ASKED)
    pass(COOL_DOWN_MS + 1)
    await ask()
    expect(questions()).toEqual([...ASKED, ...ASKED])
  })

  it('tokens of others do not have it asked', async () => {
    const claims = { iss: 'https://login.example.com', aud: AUDIENCE }
    expect(await codeOf(tokens(await forge(claims, 'one')))).toBe('unauthenticated')
    expect(questions()).toEqual([])
  })

  it('while it is unavailable tokens wait, and it is asked once in 10 seconds', async () => {
    const token = await issuer.token('alice')
    await issuer.stop()
    for (let n = 0; n < 5; n += 1) expect(await codeOf(tokens(token))).toBe('unavailable')
    await issuer.restart()
    expect(await codeOf(tokens(token))).toBe('unavailable')
    expect(questions()).toEqual([])
    pass(RETRY_MS)
    expect((await tokens(token)).name).toBe('oidc:alice')
    expect(lines.map(({ msg }) => msg).slice(-2)).toEqual(['operator.issuer-failed', 'operator.issuer-read'])
  })

  it('known keys remain valid while it is unavailable, for 10 minutes', async () => {
    const token = await issuer.token('alice')
    await tokens(token)
    await issuer.stop()
    pass(590_000)
    expect((await tokens(token)).name).toBe('oidc:alice')
    pass(10_001)
    expect(await codeOf(tokens(token))).toBe('unavailable')
  })
})

describe('an issuer', () => {
  const ISSUER = 'https://login.example.com/realms/staff'
  const token = () => forge({ iss: ISSUER }, 'one')
  const document = (more: object = {}) => ({ issuer: ISSUER, jwks_uri: 'https://login.example.com/keys', ...more })

  it.each([
    ['that names another', [document({ issuer: `${ISSUER}/` })]],
    ['whose keys are in the clear', [document({ jwks_uri: 'http://login.example.com/keys' })]],
    ['whose keys are in the clear on this machine', [document({ jwks_uri: 'http://127.0.0.1:9/keys' })]],
    ['whose keys are no address', [document({ jwks_uri: '/keys' })]],
    ['without keys', [{ issuer: ISSUER }]],
    ['whose keys are no set', [document(), []]],
    ['whose keys are far too many', [document(), { keys: [], padding: 'x'.repeat(262_144) }]],
    ['that sends elsewhere', [Response.redirect('https://elsewhere.example.com', 302)]],
    ['that is broken', [new Response('{}', { status: 500 })]],
    ['that does not speak JSON', [new Response('<html>')]],
  ])('%s is unavailable', async (_, answers) => {
    const asked: string[] = []
    const tokens = openTokens(ISSUER, {
      fetch: async (url, init) => {
        expect(init?.redirect).toBe('manual')
        const answer = answers[asked.length]
        asked.push(String(url))
        return answer instanceof Response ? answer.clone() : Response.json(answer)
      },
    })
    expect(await codeOf(tokens(await token()))).toBe('unavailable')
    expect(asked[0]).toBe(`${ISSUER}/.well-known/openid-configuration`)
    expect(asked).toHaveLength(answers.length)
  })

  it('that does not answer is unavailable in bounded time', async () => {
    const tokens = openTokens(ISSUER, {
      timeoutMs: 50,
      fetch: (_, init) =>
        new Promise((_resolve, reject) => {
          init?.signal?.addEventListener('abort', () => reject(init.signal?.reason))
        }),
    })
    expect(await codeOf(tokens(await token()))).toBe('unavailable')
  })
})
