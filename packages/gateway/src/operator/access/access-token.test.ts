import { createHmac, generateKeyPairSync } from 'node:crypto'
import { AppError } from '@oncehook/kernel/http/errors'
import { createLocalJWKSet, exportJWK, exportSPKI, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose'
import { beforeAll, describe, expect, it } from 'vitest'
import { type AccessTokens, createAccessTokens } from './access-token.ts'
import type { OperatorIssuer } from './operator-issuer.ts'

const NOW = Date.parse('2026-11-23T12:00:00Z')
const seconds = NOW / 1_000
const rules: OperatorIssuer = {
  issuer: 'https://login.example.com/realms/staff',
  audience: 'oncehook',
  groupsClaim: 'groups',
  groups: new Map([
    ['readers', new Set(['read'] as const)],
    ['Domain Admins', new Set(['read', 'operate'] as const)],
  ]),
  maxAgeSeconds: 3_600,
  signIn: { acrValues: [], amrValues: [] },
  client: null,
}
const CLAIMS = {
  ...{ iss: rules.issuer, aud: rules.audience, sub: 'user-1', groups: ['readers'] },
  ...{ iat: seconds - 10, nbf: seconds - 10, exp: seconds + 600 },
}

let pair: Awaited<ReturnType<typeof generateKeyPair>>
let verify: AccessTokens
let withRules: (other: Partial<OperatorIssuer>) => AccessTokens
beforeAll(async () => {
  pair = await generateKeyPair('RS256', { extractable: true })
  const keys = createLocalJWKSet({ keys: [{ ...(await exportJWK(pair.publicKey)), kid: 'one', alg: 'RS256' }] })
  withRules = (other) => createAccessTokens({ issuer: { ...rules, ...other }, keys, clock: { now: () => NOW } })
  verify = withRules({})
})

/** Leaves out claims that are undefined. */
function sign(claims: Readonly<Record<string, unknown>>, header: object = {}): Promise<string> {
  return new SignJWT(claims)
    .setProtectedHeader({ alg: 'RS256', kid: 'one', typ: 'at+jwt', ...header })
    .sign(pair.privateKey)
}

async function refusalOf(token: string, by = verify): Promise<Record<string, unknown>> {
  const thrown = await by(token).catch((error: unknown) => error)
  if (!(thrown instanceof AppError)) throw new Error('The token was not refused', { cause: thrown })
  const { code, message, headers, details } = thrown
  expect({ code, message, headers }).toEqual({
    ...{ code: 'unauthenticated', message: 'A valid token is required', headers: { 'WWW-Authenticate': 'Bearer' } },
  })
  return details
}

describe('an access token', () => {
  it('names its subject and gets the roles of its groups', async () => {
    expect(await verify(await sign({ ...CLAIMS, email: 'alice@example.com' }))).toEqual({
      name: 'oidc:user-1',
      roles: new Set(['read']),
      identity: { issuer: rules.issuer, name: 'alice@example.com' },
      endsAt: NOW + 600_000,
    })
    const many = await verify(await sign({ ...CLAIMS, groups: ['readers', 'Domain Admins', 'others', 7] }))
    expect(many).toMatchObject({ roles: new Set(['read', 'operate']), identity: { name: null } })
  })

  it('ends when it expires, or earlier: when it becomes too old', async () => {
    expect((await verify(await sign({ ...CLAIMS, exp: seconds + 86_400 }))).endsAt).toBe(NOW + 3_590_000)
    expect((await verify(await sign({ ...CLAIMS, exp: seconds + 60 }))).endsAt).toBe(NOW + 60_000)
  })

  it.each([
    ['no groups', { groups: undefined }],
    ['other groups', { groups: ['__proto__', 'constructor', 'Admins'] }],
    ['groups that are none', { groups: { readers: true } }],
    ['a group within a text', { groups: 'readers writers' }],
  ])('with %s has no role', async (_, claims) => {
    expect((await verify(await sign({ ...CLAIMS, ...claims }))).roles).toEqual(new Set())
  })

  it.each([
    ['one text', 'groups', { groups: 'Domain Admins' }],
    [
      'a claim with a URL as its name',
      'https://example.com/groups',
      { 'https://example.com/groups': ['Domain Admins'] },
    ],
    ['a claim inside another', '/realm_access/roles', { realm_access: { roles: ['Domain Admins'] } }],
  ])('has its groups in %s', async (_, groupsClaim, claims) => {
    const found = await withRules({ groupsClaim })(await sign({ ...CLAIMS, groups: [], ...claims }))
    expect(found.roles).toEqual(new Set(['read', 'operate']))
  })

  it('has its groups among its scopes', async () => {
    const found = await withRules({ groupsClaim: 'scope' })(await sign({ ...CLAIMS, scope: 'openid readers' }))
    expect(found.roles).toEqual(new Set(['read']))
  })

  it.each([
    ['another issuer', { iss: 'https://login.example.com/realms/other' }, 'iss'],
    ['an issuer that is ours but for a slash', { iss: `${rules.issuer}/` }, 'iss'],
    ['no issuer', { iss: undefined }, 'iss'],
    ['another audience', { aud: 'another-client' }, 'aud'],
    ['no audience', { aud: undefined }, 'aud'],
    ['no end', { exp: undefined }, 'exp'],
    ['no time of issue', { iat: undefined }, 'iat'],
    ['a time of issue to come', { iat: seconds + 31 }, 'iat'],
    ['a time before which it does not count', { nbf: seconds + 31 }, 'nbf'],
    ['no subject', { sub: undefined }, 'sub'],
    ['a subject of two lines', { sub: 'user-1\nadmin' }, 'sub'],
    ['a subject that is too long', { sub: 'x'.repeat(256) }, 'sub'],
    ['a proof of possession to be shown beside it', { cnf: { jkt: 'thumbprint' } }, 'cnf'],
  ])('with %s is refused', async (_, claims, claim) => {
    expect(await refusalOf(await sign({ ...CLAIMS, ...claims }))).toEqual({ reason: 'invalid', claim })
  })

  it.each([
    ['that has ended', { exp: seconds - 30 }, 'exp'],
    ['that is older than allowed', { iat: seconds - 3_631 }, 'iat'],
  ])('%s is refused as expired', async (_, claims, claim) => {
    expect(await refusalOf(await sign({ ...CLAIMS, ...claims }))).toEqual({ reason: 'expired', claim })
  })

  it('may be off by 30 seconds', async () => {
    const off = { iat: seconds + 30, nbf: seconds + 30, exp: seconds - 29 }
    expect((await verify(await sign({ ...CLAIMS, ...off }))).name).toBe('oidc:user-1')
  })

  it.each([[undefined], ['JWT'], ['application/at+jwt']])('may have the type %s', async (typ) => {
    expect((await verify(await sign(CLAIMS, { typ }))).name).toBe('oidc:user-1')
  })

  it.each([
    ['an ID token that says so', { typ: 'ID' }, 'JWT'],
    ['an ID token, by its nonce', { nonce: 'n' }, 'JWT'],
    ['an ID token, by a hash', { at_hash: 'h' }, undefined],
    ['a token for logout', {}, 'logout+jwt'],
    [
      'a token for logout, by its events',
      { events: { 'http://schemas.openid.net/event/backchannel-logout': {} } },
      'JWT',
    ],
    ['a token to refresh others', { typ: 'Refresh' }, 'JWT'],
    ['a token of Oncehook itself', {}, 'oncehook-call+jwt'],
  ])('is not %s', async (_, claims, typ) => {
    expect(await refusalOf(await sign({ ...CLAIMS, ...claims }, { typ }))).toEqual({ reason: 'invalid', claim: 'typ' })
  })

  it('is signed with a key of the issuer, by an asymmetric algorithm', async () => {
    const other = await generateKeyPair('RS256')
    const forged = await new SignJWT(CLAIMS).setProtectedHeader({ alg: 'RS256', kid: 'one' }).sign(other.privateKey)
    expect(await refusalOf(forged)).toMatchObject({ problem: 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED' })
    const unknown = await sign(CLAIMS, { kid: 'two' })
    expect(await refusalOf(unknown)).toMatchObject({ problem: 'ERR_JWKS_NO_MATCHING_KEY' })
    expect(await refusalOf(new UnsecuredJWT(CLAIMS).encode())).toMatchObject({ reason: 'invalid' })
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
    const text = `${part({ alg: 'HS256', kid: 'one', typ: 'at+jwt' })}.${part(CLAIMS)}`
    const mac = createHmac('sha256', await exportSPKI(pair.publicKey))
      .update(text)
      .digest('base64url')
    expect(await refusalOf(`${text}.${mac}`)).toMatchObject({ problem: 'ERR_JOSE_ALG_NOT_ALLOWED' })
    expect(await refusalOf('no.token.atall')).toMatchObject({ reason: 'invalid' })
  })

  it('may leave open which of the keys of its issuer has signed it', async () => {
    const pairs = await Promise.all(Array.from({ length: 6 }, () => generateKeyPair('RS256', { extractable: true })))
    const jwks = await Promise.all(
      pairs.map(async ({ publicKey }) => ({ ...(await exportJWK(publicKey)), alg: 'RS256' })),
    )
    const ofKeys = (count: number) =>
      createAccessTokens({
        issuer: rules,
        keys: createLocalJWKSet({ keys: jwks.slice(0, count).map((jwk, n) => ({ ...jwk, kid: `key-${n}` })) }),
        clock: { now: () => NOW },
      })
    const tokenOf = (n: number, claims: object = CLAIMS) =>
      new SignJWT({ ...claims })
        .setProtectedHeader({ alg: 'RS256', typ: 'at+jwt' })
        .sign(pairs[n]?.privateKey ?? pair.privateKey)
    for (const n of [0, 1, 2]) expect((await ofKeys(3)(await tokenOf(n))).name).toBe('oidc:user-1')
    expect(await refusalOf(await tokenOf(3), ofKeys(3))).toMatchObject({
      problem: 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED',
    })
    const ended = await tokenOf(1, { ...CLAIMS, exp: seconds - 30 })
    expect(await refusalOf(ended, ofKeys(3))).toEqual({ reason: 'expired', claim: 'exp' })
    // Of many keys, only four are tried.
    expect((await ofKeys(6)(await tokenOf(3))).name).toBe('oidc:user-1')
    expect(await refusalOf(await tokenOf(4), ofKeys(6))).toMatchObject({ reason: 'invalid' })
  })

  it.each([
    [
      'too short',
      () => generateKeyPairSync('rsa', { modulusLength: 1_024 }).publicKey.export({ format: 'jwk' }),
      'RS256',
    ],
    ['broken', () => ({ kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA' }), 'ES256'],
  ])('that names a key of the issuer which is %s is refused', async (_, makeKey, alg) => {
    const keys = createLocalJWKSet({ keys: [{ kty: '', ...makeKey(), kid: 'bad' }] })
    const tokens = createAccessTokens({ issuer: rules, keys, clock: { now: () => NOW } })
    const [, claims, signature] = (await sign(CLAIMS)).split('.')
    const header = Buffer.from(JSON.stringify({ alg, kid: 'bad', typ: 'at+jwt' })).toString('base64url')
    const refused = await refusalOf(`${header}.${claims}.${signature}`, tokens)
    expect(refused).toEqual({ reason: 'invalid', problem: 'key_unusable' })
  })

  describe('of a sign-in', () => {
    const signIn = { acrValues: ['phr', 'urn:example:gold'], amrValues: ['mfa', 'pwd'] }
    const strong = { acr: 'phr', amr: ['pwd', 'otp', 'mfa'] }

    it('that meets the rules is accepted, and any sign-in without rules', async () => {
      const byRules = withRules({ signIn })
      expect((await byRules(await sign({ ...CLAIMS, ...strong }))).name).toBe('oidc:user-1')
      expect((await byRules(await sign({ ...CLAIMS, ...strong, acr: 'urn:example:gold' }))).name).toBe('oidc:user-1')
      expect((await verify(await sign({ ...CLAIMS, acr: '0', amr: [] }))).name).toBe('oidc:user-1')
    })

    it.each([
      ['no acr', { acr: undefined }, 'acr'],
      ['another acr', { acr: 'phr urn:example:gold' }, 'acr'],
      ['an acr that is no text', { acr: ['phr'] }, 'acr'],
      ['no amr', { amr: undefined }, 'amr'],
      ['one method of two', { amr: ['mfa', 'otp'] }, 'amr'],
      ['methods in a text', { amr: 'mfa pwd' }, 'amr'],
    ])('with %s is refused, and the challenge says what is needed (RFC 9470)', async (_, claims, claim) => {
      const token = await sign({ ...CLAIMS, ...strong, ...claims })
      const message = `The sign-in behind the token is too weak: its ${claim} does not meet the settings of the gateway`
      await expect(withRules({ signIn })(token)).rejects.toMatchObject({
        ...{ code: 'sign_in_insufficient', status: 401, message, details: { reason: 'sign_in', claim } },
        headers: {
          'WWW-Authenticate': 'Bearer error="insufficient_user_authentication", acr_values="phr urn:example:gold"',
        },
      })
    })

    it('is not looked at in a token that is forged or has ended', async () => {
      const ended = await sign({ ...CLAIMS, exp: seconds - 30 })
      expect(await refusalOf(ended, withRules({ signIn }))).toEqual({ reason: 'expired', claim: 'exp' })
      const forged = `${(await sign(CLAIMS)).slice(0, -8)}AAAAAAAA`
      expect(await refusalOf(forged, withRules({ signIn }))).toMatchObject({ reason: 'invalid' })
    })

    it('is described by the rules that are set', async () => {
      const methods = withRules({ signIn: { ...signIn, acrValues: [] } })
      await expect(methods(await sign({ ...CLAIMS, ...strong, amr: [] }))).rejects.toMatchObject({
        headers: { 'WWW-Authenticate': 'Bearer error="insufficient_user_authentication"' },
      })
    })
  })

  it('shows a name on one line, and of a bounded length', async () => {
    const name = `Eve\r\n\u202e${'x'.repeat(200)}`
    const { identity } = await verify(await sign({ ...CLAIMS, email: ' ', name }))
    expect(identity.name).toBe(`Eve${'x'.repeat(125)}`)
  })
})
