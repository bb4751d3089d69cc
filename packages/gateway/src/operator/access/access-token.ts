import { unauthenticated } from '@oncehook/kernel/http/error-codes'
import { AppError } from '@oncehook/kernel/http/errors'
import type { Clock } from '@oncehook/kernel/time/clock'
import { resolvePointer } from '@oncehook/webhooks/providers'
import {
  type CryptoKey,
  decodeJwt,
  errors,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  type JWTVerifyResult,
  jwtVerify,
} from 'jose'
import { signInInsufficient } from '../../errors.ts'
import { CHALLENGE, type Role } from '../../http/authentication.ts'
import { ISSUED_PREFIX, type OperatorIssuer, type SignInRules } from './operator-issuer.ts'

/** The claims of an issuer about an operator besides the subject. They are only displayed, never used for a decision. */
export interface IssuedIdentity {
  readonly issuer: string
  readonly name: string | null
}

interface IssuedOperator {
  /** `oidc:` and the subject, which the issuer never assigns to anybody else. */
  readonly name: string
  readonly roles: ReadonlySet<Role>
  readonly identity: IssuedIdentity
  /** When the token ends, or becomes older than the rules allow. Milliseconds since 1970. */
  readonly endsAt: number
}

/**
 * Verifies that a text is an access token of the issuer.
 * @throws unauthenticated; the reason is in the details, for the log
 * @throws signInInsufficient if the token is valid but its sign-in does not meet the rules
 * @throws unavailable if the issuer must be asked and cannot be reached
 */
export type AccessTokens = (token: string) => Promise<IssuedOperator>

export interface AccessTokenRules {
  readonly issuer: OperatorIssuer
  readonly keys: JWTVerifyGetKey
  readonly clock: Clock
}

// The issuer's keys are public. A symmetric algorithm would use them as secrets.
const ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
]
const LEEWAY_SECONDS = 30
// An issuer has one key, or two during a change of keys. A stranger can name any of them for free, and each costs us a check.
const MOST_TRIED = 4
const ACCESS_TOKEN_TYPE = 'at+jwt'
/**
 * Claims that access tokens do not have. ID tokens have them (OpenID Connect Core 1.0 sections 2 and 3.3.2.11), and so
 * do tokens that report events, such as a logout (RFC 8417 section 2.2).
 */
const OTHER_CLAIMS = ['nonce', 'at_hash', 'c_hash', 's_hash', 'events']
/** The same for Keycloak, which puts the kind of a token in a claim and not in the header. */
const OTHER_KINDS: readonly unknown[] = ['ID', 'Logout', 'Refresh', 'Offline']
const SUBJECT = /^[\x21-\x7e]{1,255}$/
const NAME_CLAIMS = ['email', 'preferred_username', 'name']
const MAX_NAME = 128

/**
 * Creates the verifier of access tokens (RFC 9068, and the plain JWT of other issuers). `iss`, `aud`, `exp`, `iat` and
 * `sub` are required, `nbf` and `typ` are checked if they are present, with 30 s of leeway. ID tokens are refused.
 */
export function createAccessTokens({ issuer: rules, keys, clock }: AccessTokenRules): AccessTokens {
  const { issuer, audience, maxAgeSeconds } = rules
  return async (token) => {
    try {
      // Checked before the key is searched for, so that the issuer is not asked about tokens of others.
      if (decodeJwt(token).iss !== issuer) throw refusal({ claim: 'iss' })
      const options = {
        ...{ issuer, audience, algorithms: ALGORITHMS, maxTokenAge: maxAgeSeconds, requiredClaims: ['exp', 'sub'] },
        ...{ clockTolerance: LEEWAY_SECONDS, currentDate: new Date(clock.now()) },
      }
      const { payload, protectedHeader } = await verifyByAny({ token, keys, options })
      checkPurpose(payload, protectedHeader.typ)
      checkSignIn(payload, rules.signIn)
      const identity = { issuer, name: shownName(payload) }
      const endsAt = endOf(payload, rules) * 1_000
      return { name: `${ISSUED_PREFIX}${subjectOf(payload)}`, roles: rolesOf(payload, rules), identity, endsAt }
    } catch (error) {
      throw toRefusal(error)
    }
  }
}

interface TokenCheck {
  readonly token: string
  readonly keys: JWTVerifyGetKey
  readonly options: JWTVerifyOptions
}

/** Verifies a token. If it names no key and the issuer has several, those that fit are tried one after the other. */
async function verifyByAny(check: TokenCheck): Promise<JWTVerifyResult> {
  try {
    return await jwtVerify(check.token, check.keys, check.options)
  } catch (error) {
    if (error instanceof errors.JWKSMultipleMatchingKeys) return await tryEach(check, error)
    throw error
  }
}

async function tryEach(check: TokenCheck, keys: AsyncIterable<CryptoKey>): Promise<JWTVerifyResult> {
  let tried = 0
  for await (const key of keys) {
    tried += 1
    try {
      return await jwtVerify(check.token, key, check.options)
    } catch (failure) {
      const isOfAnother = failure instanceof errors.JWSSignatureVerificationFailed
      if (!isOfAnother || tried === MOST_TRIED) throw failure
    }
  }
  throw new errors.JWSSignatureVerificationFailed()
}

function toRefusal(error: unknown): unknown {
  if (error instanceof AppError) return error
  if (error instanceof errors.JWTExpired) return unauthenticated({ reason: 'expired', claim: error.claim }, CHALLENGE)
  if (error instanceof errors.JWTClaimValidationFailed) return refusal({ claim: error.claim })
  if (error instanceof errors.JOSEError) return refusal({ problem: error.code })
  // The issuer names a key that is broken or too short. The token is refused, because this is not a failure of ours.
  return refusal({ problem: 'key_unusable' }, error)
}

type Claims = Readonly<Record<string, unknown>>

/** Refuses tokens that an issuer creates for other purposes, above all ID tokens, which identify a person to a client. */
function checkPurpose(claims: Claims, typ: string | undefined): void {
  // Valid only with a proof of another key (RFC 7800), which a thief of the token does not have.
  if (claims.cnf !== undefined) throw refusal({ claim: 'cnf' })
  const type = typ?.toLowerCase().replace(/^application\//, '')
  if (type === ACCESS_TOKEN_TYPE) return
  const isOther = type !== undefined && type !== 'jwt'
  const hasOther = OTHER_CLAIMS.some((name) => Object.hasOwn(claims, name)) || OTHER_KINDS.includes(claims.typ)
  if (isOther || hasOther) throw refusal({ claim: 'typ' })
}

/** Refuses a token whose sign-in was too weak. The challenge says what the client must request. */
function checkSignIn({ acr, amr }: Claims, rules: SignInRules): void {
  const { acrValues, amrValues } = rules
  const methods: readonly unknown[] = Array.isArray(amr) ? amr : []
  if (acrValues.length > 0 && !acrValues.some((value) => value === acr)) throw tooWeak('acr', rules)
  if (!amrValues.every((value) => methods.includes(value))) throw tooWeak('amr', rules)
}

/** Until when the claims meet the rules, in seconds. */
function endOf({ exp, iat }: Claims, { maxAgeSeconds }: OperatorIssuer): number {
  return Math.min(Number(exp), Number(iat) + maxAgeSeconds)
}

function tooWeak(claim: 'acr' | 'amr', { acrValues }: SignInRules) {
  const challenge = [
    'Bearer error="insufficient_user_authentication"',
    ...(acrValues.length === 0 ? [] : [`acr_values="${acrValues.join(' ')}"`]),
  ]
  const message = `The sign-in behind the token is too weak: its ${claim} does not meet the settings of the gateway`
  const headers = { 'WWW-Authenticate': challenge.join(', ') }
  return signInInsufficient({ reason: 'sign_in', claim }, { headers, message })
}

function subjectOf({ sub }: Claims): string {
  if (typeof sub !== 'string' || !SUBJECT.test(sub)) throw refusal({ claim: 'sub' })
  return sub
}

function rolesOf(claims: Claims, { groupsClaim, groups }: OperatorIssuer): ReadonlySet<Role> {
  return new Set(groupsOf(claims, groupsClaim).flatMap((group) => [...(groups.get(group) ?? [])]))
}

function groupsOf(claims: Claims, claim: string): readonly string[] {
  const value = resolvePointer(claims, claim.startsWith('/') ? claim : `/${escapePointer(claim)}`)
  // Only scopes are a list in one text (RFC 6749 section 3.3). A group may have spaces in its name.
  if (typeof value === 'string') return claim === 'scope' ? value.split(' ') : [value]
  return Array.isArray(value) ? value.filter((group) => typeof group === 'string') : []
}

/** Escapes a name for a JSON Pointer. The names of claims are often URLs. */
function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

function shownName(claims: Claims): string | null {
  const given = NAME_CLAIMS.map((claim) => claims[claim]).find((name) => typeof name === 'string' && name.trim() !== '')
  if (typeof given !== 'string') return null
  return given
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '')
    .toWellFormed()
    .slice(0, MAX_NAME)
}

function refusal(details: Readonly<Record<string, unknown>>, cause?: unknown) {
  return unauthenticated({ reason: 'invalid', ...details }, { ...CHALLENGE, cause })
}
