import { hash, type KeyObject, sign } from 'node:crypto'
import { errors, type JWTHeaderParameters, type JWTPayload, jwtVerify } from 'jose'
import { unauthenticated } from '../http/error-codes.ts'
import type { Clock } from '../time/clock.ts'

const LIFETIME_SECONDS = 60
const LEEWAY_SECONDS = 30
// The longest name of an operator, with what says whose it is.
const MAX_SUBJECT = 300
/** The token type (RFC 8725 section 3.11). Tokens for other purposes are not accepted as service tokens. */
const TYPE = 'oncehook-call+jwt'
const ALGORITHM = 'EdDSA'

/** The call that a token is bound to: procedure, input and precondition. */
export interface ServiceCall {
  /** As in the path: `payments.applyEvents`. */
  readonly procedure: string
  /** The request body. For a GET, its `input` parameter, or empty. */
  readonly input: string | Uint8Array
  /** The If-Match header; absent if the request has none. */
  readonly ifMatch?: string | undefined
  /** The principal on whose behalf the service calls: 1 to 300 characters. Absent: the service itself. */
  readonly subject?: string | undefined
}

/** Dependencies of a token issuer: `issuer` is the caller, `audience` the called service. */
export interface ServiceTokenOptions {
  /** The present private key (Ed25519). */
  readonly key: () => KeyObject
  readonly issuer: string
  readonly audience: string
  readonly clock: Clock
  readonly newId: () => string
}

export type ServiceTokens = ReturnType<typeof createServiceTokens>

/** Creates the issuer of service tokens, which are signed by EdDSA (RFC 8037) with an Ed25519 key. */
export function createServiceTokens({ key, issuer, audience, clock, newId }: ServiceTokenOptions) {
  return {
    /** A token (JWT, RFC 7519) bound to this call, valid for 60 s. */
    async issue({ procedure, input, ifMatch, subject }: ServiceCall): Promise<string> {
      const iat = Math.floor(clock.now() / 1_000)
      const bound = { jti: newId(), proc: procedure, bsh: hashOf(input), ...conditionClaim(ifMatch) }
      const whom = subject === undefined ? {} : { sub: subject }
      const claims = { iss: issuer, ...whom, aud: audience, iat, exp: iat + LIFETIME_SECONDS, ...bound }
      const text = `${toPart({ alg: ALGORITHM, typ: TYPE })}.${toPart(claims)}`
      // Synchronously: the library would use another thread for each signature, which costs a call 0.25 ms.
      return `${text}.${sign(null, Buffer.from(text), key()).toString('base64url')}`
    },
  }
}

function conditionClaim(ifMatch: string | undefined): { readonly imh?: string } {
  return ifMatch === undefined ? {} : { imh: hashOf(ifMatch) }
}

function toPart(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

function hashOf(input: string | Uint8Array): string {
  return hash('sha256', input, 'base64url')
}

export type ServiceTokenVerifier = (authorization: string | undefined) => Promise<ReturnType<typeof toVerified>>

export interface ServiceTokenRules {
  /** The present public keys (Ed25519). A token signed with the private key of any of them is accepted. */
  readonly keys: () => readonly KeyObject[]
  readonly issuer: string
  readonly audience: string
  readonly clock: Clock
}

/**
 * Creates the verifier of service tokens. Accepts only EdDSA, `exp` at most 60 s after `iat`, and
 * 30 s of clock skew.
 * @throws unauthenticated, the same for every reason
 */
export function createServiceTokenVerifier(rules: ServiceTokenRules): ServiceTokenVerifier {
  return async (authorization) => {
    const token = /^Bearer ([\w-]+\.[\w-]+\.[\w-]+)$/i.exec(authorization ?? '')?.[1]
    if (token === undefined) throw refusal('missing')
    try {
      const { payload, protectedHeader } = await verifyByAny(token, rules)
      return toVerified(payload, { header: protectedHeader, issuer: rules.issuer })
    } catch (cause) {
      if (cause instanceof errors.JOSEError) throw refusal(cause.code)
      throw cause
    }
  }
}

/** Returns the token verified by one of the keys, or throws the error of the last key. */
async function verifyByAny(token: string, { keys, issuer, audience, clock }: ServiceTokenRules) {
  const shared = {
    ...{ issuer, audience, clockTolerance: LEEWAY_SECONDS, currentDate: new Date(clock.now()) },
    ...{ requiredClaims: ['iss', 'iat', 'exp'], maxTokenAge: LIFETIME_SECONDS, algorithms: [ALGORITHM] },
  }
  let refused: unknown = refusal('no_key')
  for (const key of keys()) {
    try {
      return await jwtVerify(token, key, shared)
    } catch (error) {
      if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw error
      refused = error
    }
  }
  throw refused
}

interface Verifying {
  readonly header: JWTHeaderParameters
  readonly issuer: string
}

function toVerified(payload: JWTPayload, { header, issuer }: Verifying) {
  const { iat = Number.NaN, exp = Number.NaN, jti, proc, bsh, imh, sub } = payload
  const lifetime = exp - iat
  if (!(lifetime > 0 && lifetime <= LIFETIME_SECONDS)) throw refusal('claims')
  if (header.typ !== TYPE || !isText(jti)) throw refusal('claims')
  if (sub !== undefined && !(isText(sub) && sub.length <= MAX_SUBJECT)) throw refusal('claims')
  const demand = (isRight: boolean, reason: string): void => {
    if (!isRight) throw refusal(reason)
  }
  return {
    id: jti,
    issuer,
    /** The principal on whose behalf the issuer calls. Null: the issuer itself. */
    subject: sub ?? null,
    /** @throws unauthenticated */
    checkProcedure: (procedure: string): void => demand(proc === procedure, 'other_procedure'),
    /** @throws unauthenticated */
    checkInput: (input: ServiceCall['input']): void => demand(bsh === hashOf(input), 'other_input'),
    /** @throws unauthenticated unless the token is for a request with this If-Match header, or without one */
    checkCondition: (ifMatch: ServiceCall['ifMatch']): void =>
      demand(imh === conditionClaim(ifMatch).imh, 'other_condition'),
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function refusal(reason: string) {
  return unauthenticated({ reason }, { headers: { 'WWW-Authenticate': 'Bearer' } })
}

/** A fetch function whose body is a string or bytes. */
export type CallFetch = (address: string, init: RequestInit) => Promise<Response>

/**
 * Wraps a fetch function so that each request carries a service token bound to that call. `subject` is the principal
 * on whose behalf calls are made. If absent, the service calls for itself.
 */
export function withServiceToken(fetch: CallFetch, tokens: ServiceTokens, subject?: string): CallFetch {
  return async (address, init) => {
    const headers = new Headers(init.headers)
    headers.set('authorization', `Bearer ${await tokens.issue({ ...toCall(address, init, headers), subject })}`)
    return fetch(address, { ...init, headers })
  }
}

function toCall(address: string, { method, body }: RequestInit, headers: Headers): ServiceCall {
  const { pathname, searchParams } = new URL(address)
  const procedure = pathname.slice(pathname.lastIndexOf('/') + 1)
  const isBody = method === 'POST' && (typeof body === 'string' || body instanceof Uint8Array)
  const ifMatch = headers.get('if-match') ?? undefined
  return { procedure, input: isBody ? body : (searchParams.get('input') ?? ''), ifMatch }
}
