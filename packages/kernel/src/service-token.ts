import { createHmac, hash, type KeyObject, sign } from 'node:crypto'
import type { JWTHeaderParameters, JWTPayload } from 'jose'
import type { Clock } from './clock.ts'
import { unauthenticated } from './error-codes.ts'
import { loadJose } from './load-jose.ts'
import type { ServiceKey } from './service-keys.ts'

const LIFETIME_SECONDS = 60
const LEEWAY_SECONDS = 30
const MAX_SUBJECT = 64
/** The kind of token (RFC 8725 section 3.11): no token for another purpose can stand in for one of these. */
const TYPE = 'oncehook-call+jwt'

/** What a token is good for: one procedure, one input, and one condition. */
export interface ServiceCall {
  /** As in the path: `payments.applyEvents`. */
  readonly procedure: string
  /** The body of the request; of a GET the text of its `input`, empty where it has none. */
  readonly input: string | Uint8Array
  /** The header If-Match; absent where the request has none. */
  readonly ifMatch?: string | undefined
  /** For whom the caller calls: 1 to 64 characters. Absent: for nobody but itself. */
  readonly subject?: string | undefined
}

/** What a caller needs to make tokens: whose they are (`issuer`) and whom they are for (`audience`). */
export interface ServiceTokenOptions {
  /** The key that signs now. */
  readonly key: () => ServiceKey
  readonly issuer: string
  readonly audience: string
  readonly clock: Clock
  /** Makes an id that no other token has. */
  readonly newId: () => string
}

/** Makes short-lived tokens for calls between services. */
export interface ServiceTokens {
  /** A token (JWT, RFC 7519) that is good for this call alone, for 60 s. */
  issue(call: ServiceCall): Promise<string>
}

/** Creates the maker of service tokens: HS256 where the key is a secret, EdDSA where it is an Ed25519 key. */
export function createServiceTokens({ key, issuer, audience, clock, newId }: ServiceTokenOptions): ServiceTokens {
  return {
    async issue({ procedure, input, ifMatch, subject }) {
      const { algorithm: alg, signing } = key()
      if (signing === null) throw new Error('The key of service tokens cannot sign')
      const iat = Math.floor(clock.now() / 1_000)
      const bound = { jti: newId(), proc: procedure, bsh: hashOf(input), ...conditionClaim(ifMatch) }
      const whom = subject === undefined ? {} : { sub: subject }
      const claims = { iss: issuer, ...whom, aud: audience, iat, exp: iat + LIFETIME_SECONDS, ...bound }
      const text = `${toPart({ alg, typ: TYPE })}.${toPart(claims)}`
      return `${text}.${signatureOf(text, signing)}`
    },
  }
}

/** Only where there is a condition: a verifier that does not know the claim takes the token as before. */
function conditionClaim(ifMatch: string | undefined): { readonly imh?: string } {
  return ifMatch === undefined ? {} : { imh: hashOf(ifMatch) }
}

function toPart(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

// At once: the library hands each signature to another thread, which costs a call 0.25 ms.
function signatureOf(text: string, key: KeyObject): string {
  return key.type === 'secret'
    ? createHmac('sha256', key).update(text).digest('base64url')
    : sign(null, Buffer.from(text), key).toString('base64url')
}

function hashOf(input: string | Uint8Array): string {
  return hash('sha256', input, 'base64url')
}

/** Whether every token must be bound to its call (`required`), or those of release 0.1.0 pass too (`accepted`). */
export type TokenBinding = 'required' | 'accepted'

/** A token that proved to be live. */
interface VerifiedToken {
  readonly issuer: string
  /** For whom the issuer calls; null where it names nobody, as releases before this claim do. */
  readonly subject: string | null
  /** Whether it is good for one call alone; false only where tokens without binding are accepted. */
  readonly isBound: boolean
  /**
   * Checks that the token is for this procedure.
   * @throws unauthenticated
   */
  checkProcedure(procedure: string): void
  /**
   * Checks that the token is for this input.
   * @throws unauthenticated
   */
  checkInput(input: ServiceCall['input']): void
  /**
   * Checks that the token is for a request with this header If-Match, or for one without.
   * @throws unauthenticated
   */
  checkCondition(ifMatch: ServiceCall['ifMatch']): void
}

/** Proves an `Authorization` header to be a live service token. */
export type ServiceTokenVerifier = (authorization: string | undefined) => Promise<VerifiedToken>

/** What tokens are verified by. */
export interface ServiceTokenRules {
  /** The keys that count now: a token of any of them passes. */
  readonly keys: () => readonly ServiceKey[]
  readonly issuer: string
  readonly audience: string
  readonly clock: Clock
  readonly binding: TokenBinding
}

/**
 * Creates the verifier of service tokens: the algorithm of its key only, `exp` at most 60 s after `iat`, 30 s of leeway.
 * @throws unauthenticated, alike for every reason
 */
export function createServiceTokenVerifier(rules: ServiceTokenRules): ServiceTokenVerifier {
  const jose = loadJose()
  return async (authorization) => {
    const token = /^Bearer ([\w-]+\.[\w-]+\.[\w-]+)$/i.exec(authorization ?? '')?.[1]
    if (token === undefined) throw refusal('missing')
    const { errors } = await jose
    try {
      const { payload, protectedHeader } = await verifyByAny(token, rules)
      return toVerified(payload, { header: protectedHeader, rules })
    } catch (cause) {
      if (cause instanceof errors.JOSEError) throw refusal(cause.code)
      throw cause
    }
  }
}

/** The token by the key that signed it; with none of them the error of the last. */
async function verifyByAny(token: string, { keys, issuer, audience, clock }: ServiceTokenRules) {
  const { errors, jwtVerify } = await loadJose()
  const shared = {
    ...{ issuer, audience, clockTolerance: LEEWAY_SECONDS, currentDate: new Date(clock.now()) },
    ...{ requiredClaims: ['iss', 'iat', 'exp'], maxTokenAge: LIFETIME_SECONDS },
  }
  let refused: unknown = refusal('no_key')
  for (const { algorithm, verifying } of keys()) {
    try {
      return await jwtVerify(token, verifying, { ...shared, algorithms: [algorithm] })
    } catch (error) {
      const isOfAnother =
        error instanceof errors.JWSSignatureVerificationFailed || error instanceof errors.JOSEAlgNotAllowed
      if (!isOfAnother) throw error
      refused = error
    }
  }
  throw refused
}

interface Verifying {
  readonly header: JWTHeaderParameters
  readonly rules: ServiceTokenRules
}

function toVerified(payload: JWTPayload, { header, rules }: Verifying): VerifiedToken {
  const { iat = Number.NaN, exp = Number.NaN, jti, proc, bsh, imh, sub } = payload
  const lifetime = exp - iat
  if (!(lifetime > 0 && lifetime <= LIFETIME_SECONDS)) throw refusal('claims')
  // One property of a bound token makes it one: what is missing then was not left out by release 0.1.0.
  const isBound = [header.typ, proc, bsh, imh, sub].some((property) => property !== undefined)
  if (!isBound && rules.binding === 'required') throw refusal('not_bound')
  if (isBound && (header.typ !== TYPE || !isText(jti))) throw refusal('claims')
  if (sub !== undefined && !(isText(sub) && sub.length <= MAX_SUBJECT)) throw refusal('claims')
  const demand = (isRight: boolean, reason: string): void => {
    if (isBound && !isRight) throw refusal(reason)
  }
  return {
    issuer: rules.issuer,
    subject: sub ?? null,
    isBound,
    checkProcedure: (procedure) => demand(proc === procedure, 'other_procedure'),
    checkInput: (input) => demand(bsh === hashOf(input), 'other_input'),
    checkCondition: (ifMatch) => demand(imh === conditionClaim(ifMatch).imh, 'other_condition'),
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function refusal(reason: string) {
  return unauthenticated({ reason }, { headers: { 'WWW-Authenticate': 'Bearer' } })
}
