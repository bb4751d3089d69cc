import { readCapped } from '@oncehook/kernel/http/client'
import { AppError } from '@oncehook/kernel/http/errors'
import { Secret } from '@oncehook/kernel/secrets/secret'
import * as oauth from 'oauth4webapi'
import { z } from 'zod'
import { signInAnswerInvalid, signInDenied, signInMisconfigured, signInUnavailable } from '../../errors.ts'
import { CHALLENGE } from '../../http/authentication.ts'
import {
  discoveryUrlOf,
  type IssuerAccess,
  MAX_ISSUER_BYTES,
  namedAddress,
  RETRY_MS,
  readIssuerJson,
} from '../access/issuer-keys.ts'
import type { OperatorClient, OperatorIssuer } from '../access/operator-issuer.ts'

/** The answer of the issuer, as the window brought it back. */
interface ReturnedSignIn {
  /** The query of the address, without the `?`. */
  readonly answer: string
  /** What the window kept meanwhile: it shows that the answer is for it. `verifier`: that of PKCE (RFC 7636). */
  readonly kept: Readonly<Record<'state' | 'nonce' | 'verifier', string>>
  /** The same as when it began. */
  readonly redirectUri: string
}

/** Signs operators in at the issuer by the authorization code flow with PKCE (OpenID Connect Core 1.0 section 3.1). */
export type IssuerSignIn = ReturnType<typeof createIssuerSignIn>

interface IssuerSignInDeps {
  readonly issuer: OperatorIssuer
  readonly client: OperatorClient
  readonly metadata: () => Promise<IssuerMetadata>
  readonly fetch: typeof globalThis.fetch
}

/** Creates the sign-in. Nothing is kept between begin and finish, so each may be asked of another gateway. */
export function createIssuerSignIn(deps: IssuerSignInDeps) {
  const { issuer, client, metadata } = deps
  return {
    /**
     * Makes the address of the sign-in at the issuer, and fresh random texts for it.
     * @throws signInUnavailable if the issuer must be asked and cannot be reached
     */
    async begin(redirectUri: string) {
      const { authorization_endpoint } = await metadata()
      const kept = {
        state: oauth.generateRandomState(),
        nonce: oauth.generateRandomNonce(),
        verifier: oauth.generateRandomCodeVerifier(),
      }
      const url = new URL(authorization_endpoint)
      const parameters = {
        ...{ response_type: 'code', client_id: client.id, redirect_uri: redirectUri, scope: client.scope },
        ...{ state: kept.state, nonce: kept.nonce, code_challenge_method: 'S256' },
        code_challenge: await oauth.calculatePKCECodeChallenge(kept.verifier),
        ...audienceOf(deps),
        ...requirementsOf(issuer),
      }
      for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
      return { url: url.href, kept }
    },
    /**
     * Checks that an answer is for this window, without asking the issuer. Returns the exchange of its code for the access
     * token, which is not yet verified.
     * @throws signInDenied if the issuer or the operator refused
     * @throws signInAnswerInvalid if state, nonce or code are wrong or too old
     * @throws signInMisconfigured if the issuer does not know the client
     * @throws signInUnavailable if the issuer cannot be reached within 5 s, or does not answer as it should
     */
    async finish(returned: ReturnedSignIn): Promise<() => Promise<Secret>> {
      const known = await metadata()
      const code = readCode(deps, known, returned)
      return () =>
        exchange(deps, known, { ...returned, code }).catch((error: unknown) => {
          throw toRefusalOfExchange(error)
        })
    },
  }
}

/** The parameters that ask for a token of the right audience. RFC 8707 wants them in both requests. */
function audienceOf({ issuer, client }: IssuerSignInDeps): Readonly<Record<string, string>> {
  return client.audienceParameter === null ? {} : { [client.audienceParameter]: issuer.audience }
}

/** The parameters that ask for the sign-in that the settings require (RFC 9470 section 4). */
function requirementsOf({ signIn }: OperatorIssuer): Readonly<Record<string, string>> {
  return signIn.acrValues.length === 0 ? {} : { acr_values: signIn.acrValues.join(' ') }
}

/** The code of an answer that belongs to this window. No other code is sent to the issuer. */
function readCode({ client }: IssuerSignInDeps, known: IssuerMetadata, { answer, kept }: ReturnedSignIn) {
  try {
    return oauth.validateAuthResponse(known, { client_id: client.id }, new URLSearchParams(answer), kept.state)
  } catch (error) {
    if (error instanceof oauth.AuthorizationResponseError) throw refusalOf(error.error, signInDenied)
    throw answerInvalid(error)
  }
}

async function exchange(
  deps: IssuerSignInDeps,
  known: IssuerMetadata,
  { code, kept, redirectUri }: ReturnedSignIn & { readonly code: URLSearchParams },
): Promise<Secret> {
  const { client } = deps
  const oauthClient = { client_id: client.id }
  const response = await oauth.authorizationCodeGrantRequest(
    known,
    oauthClient,
    proofOf(client, known),
    code,
    redirectUri,
    kept.verifier,
    {
      [oauth.customFetch]: (url, init) => ask(deps.fetch, url, init),
      // The metadata has only https addresses, or those of this machine.
      [oauth.allowInsecureRequests]: true,
      signal: AbortSignal.timeout(ISSUER_TIMEOUT_MS),
      additionalParameters: client.audienceParameter === 'resource' ? audienceOf(deps) : {},
    },
  )
  // The signature of the ID token is not checked: it comes from the issuer itself, over TLS (OpenID Connect Core 1.0
  // section 3.1.3.7). It only shows that the answer is for this window; the access token says who the operator is.
  const answer = await oauth.processAuthorizationCodeResponse(known, oauthClient, response, {
    ...{ expectedNonce: kept.nonce, requireIdToken: true },
  })
  // The library checks it only if there are several audiences (OpenID Connect Core 1.0 section 3.1.3.7, step 5).
  const party = oauth.getValidatedIdTokenClaims(answer)?.azp
  if (party !== undefined && party !== client.id) throw signInUnavailable({ reason: 'issuer_answer', claim: 'azp' })
  return new Secret(answer.access_token)
}

/** How the gateway proves which client it is: the first way that the issuer offers. */
function proofOf({ secret }: OperatorClient, known: IssuerMetadata): oauth.ClientAuth {
  if (secret === null) return oauth.None()
  const isBasic = known.token_endpoint_auth_methods_supported.includes('client_secret_basic')
  return isBasic ? oauth.ClientSecretBasic(secret.reveal()) : oauth.ClientSecretPost(secret.reveal())
}

/** Asks the issuer. The library would read an answer of any size. */
async function ask(fetch: typeof globalThis.fetch, url: string, init: RequestInit): Promise<Response> {
  try {
    const response = await fetch(url, { ...init, redirect: 'manual' })
    const body = await readCapped(response, MAX_ISSUER_BYTES)
    if (response.status >= 500) throw new Error(`The issuer answered ${response.status}`)
    const type = response.headers.get('content-type') ?? ''
    return new Response(body.length === 0 ? null : body, { status: response.status, headers: { 'content-type': type } })
  } catch (error) {
    throw issuerUnreachable(error)
  }
}

/** The errors that another attempt does not fix: RFC 6749 sections 4.1.2.1 and 5.2, and RFC 8707 section 2. */
const OF_SETTINGS = [
  ...['invalid_client', 'unauthorized_client', 'invalid_request', 'invalid_scope', 'invalid_target'],
  ...['unsupported_grant_type', 'unsupported_response_type'],
]
/** Temporary errors. */
const PASSING = ['server_error', 'temporarily_unavailable']
const PLAIN = /^[a-z_]{1,64}$/

/** Whose fault it is: that of this sign-in, of the settings, or of the issuer. */
function toRefusalOfExchange(error: unknown): AppError {
  if (error instanceof AppError) return error
  if (error instanceof oauth.ResponseBodyError) return refusalOf(error.error, signInAnswerInvalid)
  const cause = error instanceof Error ? error.cause : null
  const claim = typeof cause === 'object' && cause !== null && 'claim' in cause ? cause.claim : undefined
  // It is right after a new sign-in.
  if (claim === 'nonce') return answerInvalid(error)
  return signInUnavailable({ reason: 'issuer_answer', problem: problemOf(error), claim })
}

/** No cause: the errors of the library have the answer of the issuer in them, and so perhaps tokens. */
function answerInvalid(error: unknown): AppError {
  return signInAnswerInvalid({ reason: 'answer_invalid', problem: problemOf(error) }, CHALLENGE)
}

function problemOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'other'
}

function refusalOf(problem: string, otherwise: typeof signInDenied): AppError {
  if (PASSING.includes(problem)) return issuerUnreachable()
  const shown = PLAIN.test(problem) ? problem : 'other'
  if (!OF_SETTINGS.includes(problem)) return otherwise({ reason: 'issuer_refused', problem: shown }, CHALLENGE)
  const message = `The issuer refuses the sign-in of the gateway with ${shown}: its settings of the client must match those of the gateway`
  return signInMisconfigured({ reason: 'issuer_refused', problem: shown }, { message })
}

const KEPT_MS = 600_000
/** How long the issuer may take to answer, in milliseconds. */
const ISSUER_TIMEOUT_MS = 5_000

// The defaults are those of OpenID Connect Discovery 1.0 section 3 and RFC 9207 section 3.
const schema = z.object({
  issuer: z.string(),
  authorization_endpoint: z.string(),
  token_endpoint: z.string(),
  token_endpoint_auth_methods_supported: z.array(z.string()).default(['client_secret_basic']),
  id_token_signing_alg_values_supported: z.array(z.string()).default(['RS256']),
  authorization_response_iss_parameter_supported: z.boolean().default(false),
})

export type IssuerMetadata = z.output<typeof schema>

/**
 * Creates the reader of what an issuer says about its sign-in. It is kept for 10 minutes. After a failure the issuer is
 * asked once in 10 s, and by many callers at once only once.
 * @throws signInUnavailable if the issuer does not answer within 5 s, or not as it should
 */
export function createIssuerMetadata(deps: IssuerAccess): () => Promise<IssuerMetadata> {
  const { issuer, clock, logger } = deps
  let kept: IssuerMetadata | null = null
  let readAt = 0
  let failedAt = Number.NEGATIVE_INFINITY
  let asking: Promise<IssuerMetadata> | null = null
  const ask = async (): Promise<IssuerMetadata> => {
    try {
      kept = await readMetadata(deps)
      readAt = clock.now()
      return kept
    } catch (error) {
      failedAt = clock.now()
      logger.warn({ issuer, error }, 'operator.issuer-failed')
      throw issuerUnreachable(error)
    } finally {
      asking = null
    }
  }
  return async () => {
    // By their distance, because the clock may have been set back in the meantime.
    if (kept !== null && Math.abs(clock.now() - readAt) < KEPT_MS) return kept
    if (Math.abs(clock.now() - failedAt) < RETRY_MS) throw issuerUnreachable()
    asking ??= ask()
    return await asking
  }
}

/** The error of a sign-in while the issuer cannot be asked. */
function issuerUnreachable(cause?: unknown): AppError {
  const headers = { 'Retry-After': String(RETRY_MS / 1_000) }
  return signInUnavailable({ reason: 'issuer_unreachable' }, { cause, headers })
}

async function readMetadata({ issuer, fetch }: IssuerAccess): Promise<IssuerMetadata> {
  const url = discoveryUrlOf(issuer)
  const found = schema.safeParse(await readIssuerJson(url, { fetch, signal: AbortSignal.timeout(ISSUER_TIMEOUT_MS) }))
  if (!found.success) throw new Error('The discovery document does not name the endpoints of a sign-in')
  if (found.data.issuer !== issuer) throw new Error('The discovery document names another issuer')
  for (const name of ['authorization_endpoint', 'token_endpoint'] as const) namedAddress(name, found.data[name], url)
  return found.data
}
