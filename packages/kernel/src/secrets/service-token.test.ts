import { createHash, createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import fc from 'fast-check'
import { decodeJwt, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose'
import { describe, expect, it } from 'vitest'
import { unauthenticated } from '../http/error-codes.ts'
import type { AppError } from '../http/errors.ts'
import {
  createServiceTokens,
  createServiceTokenVerifier,
  type ServiceCall,
  type ServiceTokenRules,
  type ServiceTokenVerifier,
} from './service-token.ts'

const [OWN, OTHER] = [generateKeyPairSync('ed25519'), generateKeyPairSync('ed25519')]
const NOW = 1_790_000_000
const CALL = { procedure: 'payments.applyEvents', input: '{"events":["é"]}' }
const BSH = createHash('sha256').update(CALL.input).digest('base64url')

const clock = { now: () => NOW * 1_000 }
const rules: ServiceTokenRules = {
  ...{ keys: () => [OWN.publicKey], issuer: 'gateway', audience: 'fulfilment', clock },
}
const verify = createServiceTokenVerifier(rules)
const TYPED = { alg: 'EdDSA', typ: 'oncehook-call+jwt' }
const UNBOUND = { iss: 'gateway', aud: 'fulfilment', iat: NOW, exp: NOW + 60 }
const CLAIMS = { ...UNBOUND, jti: 'one', proc: CALL.procedure, bsh: BSH }

async function forge(claims: JWTPayload, { key = OWN.privateKey, ...header }: Forging = {}): Promise<string> {
  return `Bearer ${await new SignJWT(claims).setProtectedHeader({ ...TYPED, ...header }).sign(key)}`
}

interface Forging {
  readonly key?: KeyObject
  readonly alg?: string
  readonly typ?: string
}

/** The error that refused the token or its call. */
async function refusalOf(
  authorization: string | undefined,
  { by = verify, call = CALL }: { by?: ServiceTokenVerifier; call?: ServiceCall } = {},
): Promise<AppError> {
  const thrown: unknown = await by(authorization)
    .then((token) => {
      token.checkProcedure(call.procedure)
      token.checkInput(call.input)
      token.checkCondition(call.ifMatch)
      return new Error('The call was accepted')
    })
    .catch((error: unknown) => error)
  if (unauthenticated.is(thrown)) return thrown
  throw thrown
}

/** Throws if the token or the call is refused. */
async function accept(
  authorization: string,
  { by = verify, call = CALL }: { by?: ServiceTokenVerifier; call?: ServiceCall } = {},
): Promise<{ subject: string | null }> {
  const token = await by(authorization)
  expect(token.issuer).toBe('gateway')
  token.checkProcedure(call.procedure)
  token.checkInput(call.input)
  token.checkCondition(call.ifMatch)
  return token
}

function tokensOf(key: KeyObject) {
  const ids = Array.from({ length: 100 }, (_, index) => `id_${index + 1}`).values()
  const newId = () => ids.next().value ?? ''
  return createServiceTokens({ key: () => key, issuer: 'gateway', audience: 'fulfilment', clock, newId })
}

describe('createServiceTokens', () => {
  it('makes tokens that are good with the condition of the call only', async () => {
    const tokens = tokensOf(OWN.privateKey)
    const conditional = { ...CALL, ifMatch: '"7"' }
    const token = `Bearer ${await tokens.issue(conditional)}`
    await accept(token, { call: conditional })
    for (const call of [CALL, { ...CALL, ifMatch: '*' }]) {
      expect((await refusalOf(token, { call })).details.reason).toBe('other_condition')
    }
    const plain = `Bearer ${await tokens.issue(CALL)}`
    expect((await refusalOf(plain, { call: conditional })).details.reason).toBe('other_condition')
  })

  it('names the principal of the call in the token, and none if the caller acts for itself', async () => {
    const tokens = tokensOf(OWN.privateKey)
    const [named, own] = [await tokens.issue({ ...CALL, subject: 'shop ü' }), await tokens.issue(CALL)]
    expect(decodeJwt(named)).toEqual({ ...CLAIMS, jti: 'id_1', sub: 'shop ü' })
    expect(await accept(`Bearer ${named}`)).toMatchObject({ subject: 'shop ü' })
    expect(await accept(`Bearer ${own}`)).toMatchObject({ subject: null })
  })
})

describe('a verifier of several keys', () => {
  const by = (...keys: KeyObject[]) => createServiceTokenVerifier({ ...rules, keys: () => keys })

  it.each([
    ['the first', OWN],
    ['the second', OTHER],
  ])('accepts a token by %s, so that gateways can be switched one by one', async (_, { privateKey, publicKey }) => {
    const token = `Bearer ${await tokensOf(privateKey).issue(CALL)}`
    await accept(token, { by: by(OWN.publicKey, OTHER.publicKey) })
    await refusalOf(token, { by: by(...[OWN, OTHER].map((pair) => pair.publicKey).filter((key) => key !== publicKey)) })
    await refusalOf(token, { by: by() })
  })

  it('uses the keys that are valid when the token arrives', async () => {
    let keys = [OWN.publicKey]
    const verifier = createServiceTokenVerifier({ ...rules, keys: () => keys })
    const token = `Bearer ${await tokensOf(OTHER.privateKey).issue(CALL)}`
    await refusalOf(token, { by: verifier })
    keys = [OTHER.publicKey, OWN.publicKey]
    await accept(token, { by: verifier })
  })
})

describe('the binding of a token', () => {
  it.each([
    ['another spelling of the procedure', { ...CALL, procedure: 'payments.applyevents' }],
    ['the same input with a space more', { ...CALL, input: `${CALL.input} ` }],
    ['no input', { ...CALL, input: '' }],
  ])('refuses %s', async (_, call) => {
    await refusalOf(await forge(CLAIMS), { call })
  })

  it.each<[string, JWTPayload, Forging]>([
    ['the type alone', UNBOUND, {}],
    ['the procedure alone', { ...UNBOUND, proc: CALL.procedure }, { typ: undefined as never }],
    ['the input alone', { ...UNBOUND, bsh: BSH }, { typ: undefined as never }],
    ['the subject alone', { ...UNBOUND, sub: 'shop' }, { typ: undefined as never }],
    ['all but the type', CLAIMS, { typ: undefined as never }],
    ['an id that is no text', { ...CLAIMS, jti: 7 as never }, {}],
    ['a procedure that is no text', { ...CLAIMS, proc: [CALL.procedure] }, {}],
  ])('is complete: refused with %s', async (_, claims, header) => {
    await refusalOf(await forge(claims, header))
  })
})

describe('createServiceTokenVerifier', () => {
  it.each<[string, JWTPayload]>([
    ['one that expired long ago', { ...CLAIMS, iat: NOW - 86_400, exp: NOW - 86_340 }],
    ['an old one that lives long', { ...CLAIMS, iat: NOW - 3_600, exp: NOW + 3_600 }],
    ['one that ends before it begins', { ...CLAIMS, exp: NOW - 1 }],
    ['one that lives for no time', { ...CLAIMS, exp: NOW }],
    ['one that is not valid yet', { ...CLAIMS, nbf: NOW + 31 }],
    ['one for another spelling of the audience', { ...CLAIMS, aud: 'Fulfilment' }],
    ['one for nobody', { ...CLAIMS, aud: [] }],
    ['one with an empty issuer', { ...CLAIMS, iss: '' }],
    ['one whose issuer is no text', { ...CLAIMS, iss: 7 as never }],
    ['one whose issuer is null', { ...CLAIMS, iss: null as never }],
    ['one whose exp is a text', { ...CLAIMS, exp: String(NOW + 60) as never }],
    ['one whose iat is a text', { ...CLAIMS, iat: String(NOW) as never }],
    ['one whose subject is empty', { ...CLAIMS, sub: '' }],
    ['one whose subject is no text', { ...CLAIMS, sub: 7 as never }],
    ['one whose subject is longer than any name', { ...CLAIMS, sub: 'x'.repeat(301) }],
    ['one without claims', {}],
  ])('refuses %s', async (_what, claims) => {
    await refusalOf(await forge(claims))
  })

  // Whoever has a public key could make such tokens.
  it.each(['HS256', 'HS384', 'HS512'])('refuses %s with the public key as the secret', async (alg) => {
    const pem = OWN.publicKey.export({ type: 'spki', format: 'pem' }).toString()
    const jwk = OWN.publicKey.export({ format: 'jwk' })
    for (const key of [pem, pem.trim(), String(jwk.x), Buffer.from(String(jwk.x), 'base64url')]) {
      const [head, body] = [{ ...TYPED, alg }, CLAIMS].map((part) =>
        Buffer.from(JSON.stringify(part)).toString('base64url'),
      )
      const mac = createHmac(alg.replace('HS', 'sha'), key).update(`${head}.${body}`).digest('base64url')
      await refusalOf(`Bearer ${head}.${body}.${mac}`)
    }
  })

  it('refuses a token that is not signed', async () => {
    const unsigned = new UnsecuredJWT(CLAIMS).encode()
    await refusalOf(`Bearer ${unsigned}`)
    await refusalOf(`Bearer ${unsigned}x`)
    await refusalOf(`Bearer ${handmade({ alg: 'none' })}`)
    await refusalOf(`Bearer ${handmade({ alg: 'None' })}`)
  })

  it.each([
    ['no algorithm', { ...TYPED, alg: undefined }],
    ['a critical extension', { ...TYPED, crit: ['x'], x: 1 }],
    ['an unencoded payload', { ...TYPED, crit: ['b64'], b64: false }],
    ['an algorithm of another kind', { ...TYPED, alg: 'RS256' }],
    ['an algorithm that is no text', { ...TYPED, alg: 1 }],
    ['a list', ['EdDSA']],
    ['null', null],
  ])('refuses a header with %s', async (_what, header) => {
    await refusalOf(`Bearer ${handmade(header)}`)
  })

  it('refuses anything else, and never with another error', async () => {
    const part = fc.oneof(
      fc.string({ unit: fc.constantFrom(...'abcXYZ019-_'.split('')), maxLength: 20 }),
      fc.jsonValue().map((value) => Buffer.from(JSON.stringify(value)).toString('base64url')),
      fc.constantFrom('eyJhbGciOiJFZERTQSJ9', 'e30', 'bnVsbA'),
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

  it('answers alike for every reason, and names the scheme', async () => {
    const refusals = await Promise.all([
      refusalOf(undefined),
      refusalOf(await forge({ ...CLAIMS, aud: 'x' })),
      refusalOf(await forge({ ...CLAIMS, exp: NOW + 61 })),
      refusalOf(await forge(CLAIMS, { key: OTHER.privateKey })),
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

/** A token with any header and a valid signature. */
function handmade(header: unknown): string {
  const encode = (part: unknown): string => Buffer.from(JSON.stringify(part)).toString('base64url')
  const signed = `${encode(header)}.${encode(CLAIMS)}`
  return `${signed}.${sign(null, Buffer.from(signed), OWN.privateKey).toString('base64url')}`
}
