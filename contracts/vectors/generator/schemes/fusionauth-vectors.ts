import { createHash, createHmac } from 'node:crypto'
import { bodyCases } from '../cases/body-cases.ts'
import { secretCases } from '../cases/secret-cases.ts'
import { accepted, type Recipe, refused } from '../recipe.ts'
import { BODY, type HeaderLine, NOW, type Vector } from '../vector.ts'

const HEADER = 'X-FusionAuth-Signature-JWT'
const SECRET = 'test_secret'
const HEAD = { alg: 'HS256', typ: 'JWT' }

/** The parts of a token (RFC 7519). Each has its usual value by default. */
interface Token {
  readonly head?: unknown
  readonly claims?: unknown
  readonly key?: string
  readonly hash?: string
}

function toPart(value: unknown): string {
  return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
}

function claimOf(body: Buffer, algorithm = 'sha256'): Buffer {
  return createHash(algorithm).update(body).digest()
}

const CLAIMS = { request_body_sha256: claimOf(BODY).toString('base64') }

function tokenOf({ head = HEAD, claims = CLAIMS, key = SECRET, hash = 'sha256' }: Token = {}): string {
  const signed = `${toPart(head)}.${toPart(claims)}`
  return `${signed}.${createHmac(hash, key).update(signed).digest('base64url')}`
}

const RECIPE: Recipe = {
  scheme: 'fusionauth',
  secret: SECRET,
  header: HEADER,
  encoding: 'base64',
  write: ({ body = BODY }) => [
    [HEADER, tokenOf({ claims: { request_body_sha256: claimOf(body).toString('base64') } })],
  ],
  text: (body) => [body],
  independent: null,
}

/** FusionAuth: an HS256 token that contains the hash of the body. */
export function fusionauthVectors(): Vector[] {
  return [
    accepted(RECIPE, 'signed as the provider signs'),
    vectorWith('accepted', 'with a key id in the header', { head: { ...HEAD, kid: 'k1' } }),
    vectorWith('accepted', 'with times that count now', { claims: { ...CLAIMS, iat: NOW, exp: NOW + 60, nbf: NOW } }),
    vectorWith('accepted', 'ended 290 s ago, within the tolerance', { claims: { ...CLAIMS, exp: NOW - 290 } }),
    ...headerCases(),
    ...partCases(),
    ...HEADS.map(([why, head, hash]) => vectorWith('refused', why, { head, ...(hash === undefined ? {} : { hash }) })),
    ...CLAIMS_REFUSED.map(([why, claims]) => vectorWith('refused', why, { claims })),
    vectorWith('refused', 'its own key in the header', {
      head: { ...HEAD, jwk: { kty: 'oct', k: Buffer.alloc(32, 'k').toString('base64url') } },
      key: 'k'.repeat(32),
    }),
    vectorWith('refused', 'signed with another secret', { key: 'another_secret' }),
    vectorWith('refused', 'signed with the empty key', { key: '' }),
    vectorWith('refused', 'signed with the secret and a line feed behind it', { key: `${SECRET}\n` }),
    vectorWith('refused', 'signed with the secret in base64', { key: Buffer.from(SECRET).toString('base64') }),
    written('the HMAC of the body, no token', createHmac('sha256', SECRET).update(BODY).digest('hex')),
    ...secretCases(RECIPE),
    ...bodyCases(RECIPE),
  ]
}

function vectorWith(verdict: Vector['verdict'], why: string, token: Token): Vector {
  const headers: HeaderLine[] = [[HEADER, tokenOf(token)]]
  return verdict === 'accepted' ? accepted(RECIPE, why, { headers }) : refused(RECIPE, why, { headers })
}

function written(why: string, value: string): Vector {
  return refused(RECIPE, why, { headers: [[HEADER, value]] })
}

function headerCases(): Vector[] {
  const token = tokenOf()
  const line: HeaderLine = [HEADER, token]
  return [
    accepted(RECIPE, `the header is named ${HEADER.toLowerCase()}`, { headers: [[HEADER.toLowerCase(), token]] }),
    accepted(RECIPE, `the header is named ${HEADER.toUpperCase()}`, { headers: [[HEADER.toUpperCase(), token]] }),
    refused(RECIPE, 'no headers', { headers: [] }),
    written('the header is empty', ''),
    refused(RECIPE, 'the header stands twice', { headers: [line, line] }),
    refused(RECIPE, 'the header stands twice, in another case', { headers: [line, [HEADER.toLowerCase(), token]] }),
    written('two tokens joined by a comma', `${token}, ${token}`),
    written('a Bearer before it', `Bearer ${token}`),
    refused(RECIPE, 'in the header Authorization only', { headers: [['Authorization', `Bearer ${token}`]] }),
  ]
}

function partCases(): Vector[] {
  const token = tokenOf()
  const [head = '', claims = '', signature = ''] = token.split('.')
  const bytes = Buffer.from(signature, 'base64url')
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const next = alphabet[alphabet.indexOf(signature.at(-1) ?? '') + 1]
  const signed = (why: string, text: string): Vector => written(why, `${head}.${claims}.${text}`)
  return [
    signed('no signature', ''),
    written('two parts only', `${head}.${claims}`),
    written('four parts', `${token}.${signature}`),
    written('five parts', `${token}..`),
    signed('the signature is one character short', signature.slice(0, -1)),
    signed('the signature is one character long', `${signature}A`),
    signed('the signature is one byte short', bytes.subarray(0, -1).toString('base64url')),
    signed('the signature is padded', `${signature}=`),
    signed('the signature is all zeros', Buffer.alloc(32).toString('base64url')),
    signed('the signature is hexadecimal', bytes.toString('hex')),
    signed('the last digit of the signature has unused bits set', `${signature.slice(0, -1)}${next}`),
    written('a blank stands within', `${token.slice(0, 20)} ${token.slice(20)}`),
    written('a tab stands behind', `${token}\t`),
    written('one byte is not ASCII', `\u00e9${token.slice(1)}`),
    written('the header was changed', `${toPart({ typ: 'JWT', alg: 'HS256' })}.${claims}.${signature}`),
    written('alg none without a signature', `${toPart({ ...HEAD, alg: 'none' })}.${claims}.`),
    refused(RECIPE, 'the claims were changed', {
      headers: [
        [
          HEADER,
          `${head}.${toPart({ request_body_sha256: claimOf(Buffer.from('x')).toString('base64') })}.${signature}`,
        ],
      ],
      body: Buffer.from('x'),
    }),
  ]
}

const HEADS: readonly [why: string, head: unknown, hash?: string][] = [
  ['alg none with the signature', { alg: 'none' }],
  ['alg None in mixed case', { alg: 'nOnE' }],
  ['HS384', { alg: 'HS384' }, 'sha384'],
  ['HS512', { alg: 'HS512' }, 'sha512'],
  ['called RS256', { alg: 'RS256' }],
  ['called hs256', { alg: 'hs256' }],
  ['no alg', { typ: 'JWT' }],
  ['alg is a list', { alg: ['HS256'] }],
  ['a critical header that nobody knows', { ...HEAD, crit: ['x'], x: 1 }],
  ['an unencoded payload (b64 false)', { ...HEAD, crit: ['b64'], b64: false }],
  ['the header is no object', '"HS256"'],
  ['the header is not JSON', '{'],
]

const CLAIMS_REFUSED: readonly [why: string, claims: unknown][] = [
  ['no claim of the body', {}],
  ['the claim is hexadecimal', { request_body_sha256: claimOf(BODY).toString('hex') }],
  ['the claim is in the URL-safe alphabet', { request_body_sha256: claimOf(BODY).toString('base64url') }],
  ['the claim has no padding', { request_body_sha256: CLAIMS.request_body_sha256.replace('=', '') }],
  ['the claim is empty', { request_body_sha256: '' }],
  ['the claim is null', { request_body_sha256: null }],
  ['the claim is a list', { request_body_sha256: [CLAIMS.request_body_sha256] }],
  ['the claim has another name', { body_sha256: CLAIMS.request_body_sha256 }],
  ['the claim is a SHA-1 hash', { request_body_sha256: claimOf(BODY, 'sha1').toString('base64') }],
  ['the claim is a SHA-512 hash', { request_body_sha256: claimOf(BODY, 'sha512').toString('base64') }],
  ['the claims are a list', []],
  ['the claims are not JSON', 'x'],
  ['ended 301 s ago', { ...CLAIMS, exp: NOW - 301 }],
  ['counts only from 301 s ahead', { ...CLAIMS, nbf: NOW + 301 }],
  ['the end is no number', { ...CLAIMS, exp: 'soon' }],
]
