import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { decodeJwt, decodeProtectedHeader, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose'
import { describe, expect, it } from 'vitest'
import { unauthenticated } from './error-codes.ts'
import type { AppError } from './errors.ts'
import { Secret } from './secret.ts'
import { createServiceTokens, createServiceTokenVerifier } from './service-token.ts'

const SECRET = 'q7Zt0hXv2MZb4w9Lr1Yc8Ks6Dn3Fj5Gp-0123456789-0123456789-0123456789'
const secret = new Secret(SECRET)
const NOW = 1_790_000_000

/** A clock that a test sets, in seconds. */
function setClock(seconds = NOW) {
  const clock = { seconds, now: () => clock.seconds * 1000 }
  return clock
}

const clock = setClock()
const verify = createServiceTokenVerifier({ secret, audience: 'fulfilment', clock })
const CLAIMS = { iss: 'gateway', aud: 'fulfilment', iat: NOW, exp: NOW + 60 }

async function forge(claims: JWTPayload, { alg = 'HS256', key = SECRET } = {}): Promise<string> {
  return `Bearer ${await new SignJWT(claims).setProtectedHeader({ alg }).sign(new TextEncoder().encode(key))}`
}

async function refusalOf(authorization: string | undefined): Promise<AppError> {
  const thrown: unknown = await verify(authorization).then(
    () => new Error('The token was accepted'),
    (error: unknown) => error,
  )
  if (unauthenticated.is(thrown)) return thrown
  throw thrown
}

describe('createServiceTokens', () => {
  it('makes tokens that the verifier takes, and says who made them', async () => {
    const tokens = createServiceTokens({ secret, issuer: 'gateway', audience: 'fulfilment', clock })
    const token = await tokens.issue()
    await expect(verify(`Bearer ${token}`)).resolves.toEqual({ issuer: 'gateway' })
    expect(decodeProtectedHeader(token)).toEqual({ alg: 'HS256' })
    expect(decodeJwt(token)).toEqual(CLAIMS)
  })

  it('uses a token again while it has half its life before it', async () => {
    const moving = setClock(NOW + 0.999)
    const tokens = createServiceTokens({ secret, issuer: 'gateway', audience: 'fulfilment', clock: moving })
    const first = await tokens.issue()
    moving.seconds = NOW + 29.9
    expect(await tokens.issue()).toBe(first)
  })

  it('never hands out a token with less than 30 s to live', async () => {
    const steps = fc.array(fc.double({ min: -50, max: 50, noNaN: true }), { minLength: 1, maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(steps, async (waits) => {
        const moving = setClock()
        const tokens = createServiceTokens({ secret, issuer: 'gateway', audience: 'fulfilment', clock: moving })
        for (const wait of waits) {
          moving.seconds += wait
          const { exp = 0, iat = 0 } = decodeJwt(await tokens.issue())
          expect(exp - moving.seconds).toBeGreaterThanOrEqual(30)
          expect(exp - iat).toBe(60)
        }
      }),
      { numRuns: 30, examples: [[[0.999, 29.95]]] },
    )
  })

  it('signs once for many callers at the same time', async () => {
    const tokens = createServiceTokens({ secret, issuer: 'gateway', audience: 'fulfilment', clock })
    const issued = await Promise.all([tokens.issue(), tokens.issue(), tokens.issue()])
    expect(new Set(issued).size).toBe(1)
  })
})

describe('createServiceTokenVerifier', () => {
  it.each<[string, JWTPayload]>([
    ['a fresh token', CLAIMS],
    ['a short one', { ...CLAIMS, exp: NOW + 5 }],
    ['one that expired less than 30 s ago', { ...CLAIMS, iat: NOW - 89, exp: NOW - 29 }],
    ['one made less than 30 s ahead of our clock', { ...CLAIMS, iat: NOW + 29, exp: NOW + 89 }],
    ['one that is also for others', { ...CLAIMS, aud: ['other', 'fulfilment'] }],
    ['one with further claims', { ...CLAIMS, jti: 'x', nbf: NOW }],
  ])('takes %s', async (_what, claims) => {
    await expect(verify(await forge(claims))).resolves.toEqual({ issuer: 'gateway' })
  })

  it.each<[string, JWTPayload]>([
    ['an expired token', { ...CLAIMS, iat: NOW - 91, exp: NOW - 31 }],
    ['one that expired long ago', { ...CLAIMS, iat: NOW - 86_400, exp: NOW - 86_340 }],
    ['one made more than 30 s ahead of our clock', { ...CLAIMS, iat: NOW + 31, exp: NOW + 91 }],
    ['one that lives longer than 60 s', { ...CLAIMS, exp: NOW + 61 }],
    ['an old one that lives long', { ...CLAIMS, iat: NOW - 3_600, exp: NOW + 3_600 }],
    ['one that ends before it begins', { ...CLAIMS, exp: NOW - 1 }],
    ['one that lives for no time', { ...CLAIMS, exp: NOW }],
    ['one that is not valid yet', { ...CLAIMS, nbf: NOW + 31 }],
    ['one for another audience', { ...CLAIMS, aud: 'gateway' }],
    ['one for another spelling of the audience', { ...CLAIMS, aud: 'Fulfilment' }],
    ['one for nobody', { ...CLAIMS, aud: [] }],
    ['one without an audience', { iss: 'gateway', iat: NOW, exp: NOW + 60 }],
    ['one without an issuer', { aud: 'fulfilment', iat: NOW, exp: NOW + 60 }],
    ['one without iat', { iss: 'gateway', aud: 'fulfilment', exp: NOW + 60 }],
    ['one without exp', { iss: 'gateway', aud: 'fulfilment', iat: NOW }],
    ['one with an empty issuer', { ...CLAIMS, iss: '' }],
    ['one whose issuer is no text', { ...CLAIMS, iss: 7 as never }],
    ['one whose issuer is null', { ...CLAIMS, iss: null as never }],
    ['one whose exp is a text', { ...CLAIMS, exp: String(NOW + 60) as never }],
    ['one whose iat is a text', { ...CLAIMS, iat: String(NOW) as never }],
    ['one without claims', {}],
  ])('refuses %s', async (_what, claims) => {
    await refusalOf(await forge(claims))
  })

  it('refuses another secret', async () => {
    await refusalOf(await forge(CLAIMS, { key: `${SECRET}x` }))
    await refusalOf(await forge(CLAIMS, { key: SECRET.toLowerCase() }))
  })

  it.each(['HS384', 'HS512'])('refuses %s, also with the right secret', async (alg) => {
    await refusalOf(await forge(CLAIMS, { alg }))
  })

  it('refuses a token that is not signed', async () => {
    const unsigned = new UnsecuredJWT(CLAIMS).encode()
    await refusalOf(`Bearer ${unsigned}`)
    await refusalOf(`Bearer ${unsigned}x`)
    await refusalOf(`Bearer ${handmade({ alg: 'none' })}`)
    await refusalOf(`Bearer ${handmade({ alg: 'None' })}`)
  })

  it.each([
    ['no algorithm', {}],
    ['a critical extension', { alg: 'HS256', crit: ['x'], x: 1 }],
    ['an unencoded payload', { alg: 'HS256', crit: ['b64'], b64: false }],
    ['an algorithm of another kind', { alg: 'RS256' }],
    ['an algorithm that is no text', { alg: 1 }],
    ['a list', ['HS256']],
    ['null', null],
  ])('refuses a header with %s', async (_what, header) => {
    await refusalOf(`Bearer ${handmade(header)}`)
  })

  it('refuses a token of which one part was changed', async () => {
    const [head = '', body = '', signature = ''] = (await forge(CLAIMS)).slice('Bearer '.length).split('.')
    const other = Buffer.from(JSON.stringify({ ...CLAIMS, iss: 'operator' })).toString('base64url')
    await refusalOf(`Bearer ${head}.${other}.${signature}`)
    await refusalOf(`Bearer ${head}.${body}.${signature.slice(1)}`)
    await refusalOf(`Bearer ${head}.${body}.${signature}.x`)
    await refusalOf(`Bearer ${head}.${body}`)
  })

  it.each([
    undefined,
    '',
    'Bearer',
    'Bearer ',
    'Bearer a.b.c',
    'Basic dTpw',
    `Bearer ${'a'.repeat(100_000)}.${'b'.repeat(100_000)}.${'c'.repeat(100_000)}`,
  ])('refuses the header %.20j', async (header) => {
    await refusalOf(header)
  })

  it('refuses anything else, and never with another error', async () => {
    const part = fc.oneof(
      fc.string({ unit: fc.constantFrom(...'abcXYZ019-_'.split('')), maxLength: 20 }),
      fc.jsonValue().map((value) => Buffer.from(JSON.stringify(value)).toString('base64url')),
      fc.constantFrom('eyJhbGciOiJIUzI1NiJ9', 'e30', 'bnVsbA'),
    )
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.tuple(part, part, part).map((parts) => parts.join('.')),
          fc.string(),
        ),
        async (token) => {
          await refusalOf(`Bearer ${token}`)
        },
      ),
    )
  })

  it('takes the scheme in any case', async () => {
    const token = (await forge(CLAIMS)).slice('Bearer '.length)
    await expect(verify(`bearer ${token}`)).resolves.toBeDefined()
    await refusalOf(`Bearer  ${token}`)
    await refusalOf(`Bearer ${token}\n`)
    await refusalOf(token)
  })

  it('answers alike for every reason, and names the scheme', async () => {
    const refusals = await Promise.all([
      refusalOf(undefined),
      refusalOf(await forge({ ...CLAIMS, aud: 'x' })),
      refusalOf(await forge({ ...CLAIMS, exp: NOW + 61 })),
      refusalOf(await forge(CLAIMS, { alg: 'HS512' })),
      refusalOf(await forge({ ...CLAIMS, iss: '' })),
    ])
    const answers = refusals.map(({ status, code, message, headers }) =>
      JSON.stringify({ status, code, message, headers }),
    )
    expect(new Set(answers).size).toBe(1)
    expect(refusals[0]?.headers).toEqual({ 'WWW-Authenticate': 'Bearer' })
    expect(JSON.stringify(refusals.map(({ details, cause }) => [details, cause]))).not.toContain('eyJ')
  })
})

/** A token with a header of any kind and the right signature over it. */
function handmade(header: unknown): string {
  const encode = (part: unknown): string => Buffer.from(JSON.stringify(part)).toString('base64url')
  const signed = `${encode(header)}.${encode(CLAIMS)}`
  return `${signed}.${createHmac('sha256', SECRET).update(signed).digest('base64url')}`
}
