import { generateKeyPairSync } from 'node:crypto'
import { inspect } from 'node:util'
import { AppError } from '@oncehook/kernel/http/errors'
import { Secret } from '@oncehook/kernel/secrets/secret'
import { type JWTPayload, SignJWT, UnsecuredJWT } from 'jose'
import { describe, expect, it } from 'vitest'
import { MAX_ISSUER_BYTES } from '../access/issuer-keys.ts'
import type { OperatorClient, SignInRules } from '../access/operator-issuer.ts'
import { createIssuerSignIn, type IssuerMetadata } from './issuer-sign-in.ts'

const ISSUER = 'https://login.example'
const REDIRECT = 'https://oncehook.example/sign-in'
const TOKEN = 'the-access-token-9d1c'
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const CLIENT: OperatorClient = { id: 'oncehook', secret: null, scope: 'openid', audienceParameter: null }
const METADATA: IssuerMetadata = {
  issuer: ISSUER,
  authorization_endpoint: `${ISSUER}/authorize?tenant=staff`,
  token_endpoint: `${ISSUER}/token`,
  token_endpoint_auth_methods_supported: ['client_secret_basic'],
  id_token_signing_alg_values_supported: ['ES256'],
  authorization_response_iss_parameter_supported: true,
}
const seconds = () => Math.floor(Date.now() / 1_000)
const idClaims = (nonce: string): JWTPayload => ({
  ...{ iss: ISSUER, aud: CLIENT.id, sub: 'alice', nonce },
  ...{ iat: seconds(), exp: seconds() + 300 },
})
const idToken = (claims: JWTPayload) => new SignJWT(claims).setProtectedHeader({ alg: 'ES256' }).sign(privateKey)

interface Case {
  readonly client?: Partial<OperatorClient>
  readonly metadata?: Partial<IssuerMetadata>
  readonly rules?: Partial<SignInRules>
  /** The answer of the issuer to the window, besides the state. */
  readonly answer?: Readonly<Record<string, string>>
  /** The answer of the token endpoint. Default: that of an issuer without faults. */
  readonly tokens?: (nonce: string) => Promise<Response>
}

/** Begins and finishes a sign-in. */
async function signIn(given: Case) {
  const asked: Request[] = []
  const issuer = {
    ...{ issuer: ISSUER, audience: 'https://oncehook.example/api', groupsClaim: 'groups', groups: new Map() },
    ...{ maxAgeSeconds: 600, client: null },
    signIn: { acrValues: [], amrValues: [], ...given.rules },
  }
  let nonce = ''
  const { begin, finish } = createIssuerSignIn({
    issuer,
    client: { ...CLIENT, ...given.client },
    metadata: async () => ({ ...METADATA, ...given.metadata }),
    fetch: async (input, init) => {
      asked.push(new Request(input, init))
      return await (given.tokens ?? (async (known) => tokenAnswer(await idToken(idClaims(known)))))(nonce)
    },
  })
  const { url, kept } = await begin(REDIRECT)
  nonce = kept.nonce
  const answer = String(new URLSearchParams({ state: kept.state, iss: ISSUER, code: 'abc', ...given.answer }))
  const token = await finish({ answer, kept, redirectUri: REDIRECT })
    .then((exchange) => exchange())
    .catch((error: unknown) => error)
  const sent = new URLSearchParams(await asked[0]?.text())
  return { url: new URL(url), asked, sent, headers: asked[0]?.headers, kept, outcome: outcomeOf(token), token }
}

function outcomeOf(result: unknown): unknown {
  if (result instanceof Secret) return result.reveal()
  if (!(result instanceof AppError)) return result
  const { code, details } = result
  return [code, details.problem]
}

const tokenAnswer = (id: string | undefined, more = {}) =>
  Response.json({ access_token: TOKEN, token_type: 'Bearer', id_token: id, ...more })
const tokensWith = (claims: JWTPayload) => async (nonce: string) =>
  tokenAnswer(await idToken({ ...idClaims(nonce), ...claims }))
const tokensError =
  (error: string, status = 400) =>
  async () =>
    Response.json({ error, error_description: '<b>no</b>' }, { status })

describe('a sign-in at an issuer', () => {
  it('takes the code, its redirect URI and the verifier to the issuer, and returns the access token', async () => {
    const { url, sent, asked, kept, outcome } = await signIn({})
    expect(outcome).toBe(TOKEN)
    expect(url.searchParams.get('tenant')).toBe('staff')
    expect(url.searchParams.get('scope')).toBe('openid')
    expect(asked.map((request) => request.url)).toEqual([METADATA.token_endpoint])
    expect(Object.fromEntries(sent)).toEqual({
      ...{ grant_type: 'authorization_code', code: 'abc', redirect_uri: REDIRECT, client_id: 'oncehook' },
      code_verifier: kept.verifier,
    })
  })

  it('requests the kind of sign-in, the scopes and the audience of the settings: by resource in both requests, by audience once', async () => {
    const scope = 'openid profile'
    const byResource = await signIn({ client: { scope, audienceParameter: 'resource' } })
    const byAudience = await signIn({ client: { audienceParameter: 'audience' } })
    const audience = 'https://oncehook.example/api'
    expect(byResource.url.searchParams.get('scope')).toBe(scope)
    expect([byResource.url.searchParams.get('resource'), byResource.sent.get('resource')]).toEqual([audience, audience])
    expect(byResource.url.searchParams.has('audience')).toBe(false)
    expect([byAudience.url.searchParams.get('audience'), byAudience.sent.has('audience')]).toEqual([audience, false])
    expect([byAudience.url.searchParams.has('resource'), byAudience.sent.has('resource')]).toEqual([false, false])
    expect(byAudience.url.searchParams.has('acr_values')).toBe(false)
    const strong = await signIn({ rules: { acrValues: ['phr', 'phrh'] } })
    expect(strong.url.searchParams.get('acr_values')).toBe('phr phrh')
  })

  it('sends the secret of the client in the way that the issuer offers', async () => {
    const client = { secret: new Secret('s3cret of ours') }
    const basic = await signIn({ client })
    expect(basic.headers?.get('authorization')).toBe(`Basic ${btoa('oncehook:s3cret+of+ours')}`)
    expect(basic.sent.has('client_secret')).toBe(false)
    const post = await signIn({ client, metadata: { token_endpoint_auth_methods_supported: ['client_secret_post'] } })
    expect([post.headers?.get('authorization'), post.sent.get('client_secret')]).toEqual([null, 's3cret of ours'])
  })
})

describe('an answer to the window', () => {
  it('needs iss if the issuer promises it (RFC 9207), and then only', async () => {
    const answer = { iss: '' }
    expect((await signIn({ answer })).outcome).toEqual(['sign_in_answer_invalid', 'OAUTH_INVALID_RESPONSE'])
    const metadata = { authorization_response_iss_parameter_supported: false }
    expect((await signIn({ answer, metadata })).outcome).toBe(TOKEN)
    const other = { answer: { iss: 'https://evil.example' }, metadata }
    expect((await signIn(other)).outcome).toEqual(['sign_in_answer_invalid', 'OAUTH_INVALID_RESPONSE'])
  })

  it.each([
    ['access_denied', 'sign_in_denied', 'access_denied'],
    ['login_required', 'sign_in_denied', 'login_required'],
    ['<script>alert(1)</script>', 'sign_in_denied', 'other'],
    ['x'.repeat(65), 'sign_in_denied', 'other'],
    ['invalid_scope', 'sign_in_misconfigured', 'invalid_scope'],
    ['invalid_request', 'sign_in_misconfigured', 'invalid_request'],
    ['unauthorized_client', 'sign_in_misconfigured', 'unauthorized_client'],
    ['unsupported_response_type', 'sign_in_misconfigured', 'unsupported_response_type'],
    ['invalid_target', 'sign_in_misconfigured', 'invalid_target'],
    ['server_error', 'sign_in_unavailable', undefined],
    ['temporarily_unavailable', 'sign_in_unavailable', undefined],
  ])('with the error %s is %s, and goes nowhere', async (error, code, problem) => {
    const { outcome, token, asked } = await signIn({ answer: { error, error_description: '<b>click here</b>' } })
    expect([outcome, asked]).toEqual([[code, problem], []])
    expect(inspect(token, { depth: 9 })).not.toContain('<')
  })
})

describe('an answer of the token endpoint', () => {
  it.each([
    ['invalid_grant', 'sign_in_answer_invalid'],
    ['invalid_client', 'sign_in_misconfigured'],
    ['unauthorized_client', 'sign_in_misconfigured'],
    ['unsupported_grant_type', 'sign_in_misconfigured'],
    ['invalid_request', 'sign_in_misconfigured'],
    ['invalid_scope', 'sign_in_misconfigured'],
    ['invalid_target', 'sign_in_misconfigured'],
  ])('with the error %s is %s', async (error, code) => {
    expect((await signIn({ tokens: tokensError(error) })).outcome).toEqual([code, error])
  })

  it.each<[string, Case['tokens'] & object]>([
    ['is a page', async () => new Response('<h1>Hello</h1>', { headers: { 'content-type': 'text/html' } })],
    ['is a page of an error', async () => new Response('<h1>No</h1>', { status: 404 })],
    ['leads elsewhere', async () => new Response(null, { status: 302, headers: { location: REDIRECT } })],
    ['has no body', async () => new Response(null, { status: 204 })],
    ['is no JSON', async () => new Response('{', { headers: { 'content-type': 'application/json' } })],
    ['has no tokens', async () => Response.json({})],
    ['has no ID token', async () => tokenAnswer(undefined)],
    ['has another kind of token', async () => tokenAnswer('', { token_type: 'mac' })],
    ['has a broken ID token', async () => tokenAnswer('a.b.c')],
    ['has an ID token without signature', async (nonce) => tokenAnswer(new UnsecuredJWT(idClaims(nonce)).encode())],
    ['has an ID token signed with a secret', async (nonce) => tokenAnswer(await signedWithSecret(nonce))],
    ['has an ID token of another issuer', tokensWith({ iss: 'https://evil.example' })],
    ['has an ID token for another client', tokensWith({ aud: 'another' })],
    ['has an ID token for others too', tokensWith({ aud: ['oncehook', 'another'], azp: 'another' })],
    ['has an ID token made for another client', tokensWith({ azp: 'another' })],
    ['is larger than an answer may be', async (nonce) => tokenAnswer(await idToken(idClaims(nonce)), { more: LONG })],
    ['has an ID token that has ended', tokensWith({ exp: seconds() - 600 })],
    ['has an ID token without the nonce', tokensWith({ nonce: undefined })],
    ['fails for a while', tokensError('temporarily_unavailable')],
    ['breaks off', () => Promise.reject(new TypeError('fetch failed'))],
    ['takes too long', () => Promise.reject(new DOMException('The operation timed out', 'TimeoutError'))],
    ['asks to come later', async () => new Response('later', { status: 429 })],
  ])('that %s is the mistake of the issuer, and not of the operator', async (_, tokens) => {
    expect((await signIn({ tokens })).token).toMatchObject({ code: 'sign_in_unavailable' })
  })

  it('may name this client as the party that the ID token is for', async () => {
    expect((await signIn({ tokens: tokensWith({ azp: CLIENT.id }) })).outcome).toBe(TOKEN)
  })

  it('with the nonce of another sign-in is refused', async () => {
    const { outcome } = await signIn({ tokens: tokensWith({ nonce: 'another' }) })
    expect(outcome).toEqual(['sign_in_answer_invalid', 'OAUTH_JWT_CLAIM_COMPARISON_FAILED'])
  })

  it('is in no error', async () => {
    const faults = [{ nonce: 'another' }, { aud: 'another' }, { exp: 1 }]
    for (const claims of faults) {
      const { token } = await signIn({ tokens: tokensWith(claims) })
      expect(token).toBeInstanceOf(AppError)
      for (const secret of [TOKEN, 'alice']) expect(inspect(token, { depth: 9 })).not.toContain(secret)
    }
  })
})

const LONG = 'x'.repeat(MAX_ISSUER_BYTES)

function signedWithSecret(nonce: string): Promise<string> {
  return new SignJWT(idClaims(nonce))
    .setProtectedHeader({ alg: 'HS256' })
    .sign(new TextEncoder().encode('x'.repeat(32)))
}
