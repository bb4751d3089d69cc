import { readCapped } from '@oncehook/kernel/http/client'
import { unavailable } from '@oncehook/kernel/http/error-codes'
import { parseStrictJson } from '@oncehook/kernel/http/strict-json'
import type { Logger } from '@oncehook/kernel/log/logger'
import type { Clock } from '@oncehook/kernel/time/clock'
import { createRemoteJWKSet, customFetch, type FetchImplementation, type JWTVerifyGetKey } from 'jose'
import { z } from 'zod'
import { isSafeAddress } from './operator-issuer.ts'

const TIMEOUT_MS = 5_000
const KEPT_MS = 600_000
/** How long an unknown key is not requested again, in milliseconds. */
export const COOL_DOWN_MS = 30_000
/** How long an issuer is not asked again after a failure, in milliseconds. */
export const RETRY_MS = 10_000

const discoverySchema = z.object({ issuer: z.string(), jwks_uri: z.string() })
const keysSchema = z.object({ keys: z.array(z.looseObject({})) })

export interface IssuerAccess {
  readonly issuer: string
  readonly fetch: typeof globalThis.fetch
  readonly clock: Clock
  readonly logger: Logger
  /** Milliseconds until the answers about its keys must have arrived. Default: 5000. */
  readonly timeoutMs?: number
}

/**
 * Creates the finder of an issuer's keys (OpenID Connect Discovery 1.0, RFC 7517). Keys are kept for 10 minutes. The
 * issuer is asked for its document and its keys within 5 s, without redirects, 256 KiB each. An unknown key is
 * requested at most once in 30 s, and after a failure the issuer is asked at most once in 10 s, so that clients cannot
 * flood it with requests. Both functions throw `unavailable` if the issuer cannot be asked now.
 */
export function createIssuerKeys(deps: IssuerAccess) {
  const { issuer, clock, logger, timeoutMs = TIMEOUT_MS } = deps
  const discoveryUrl = discoveryUrlOf(issuer)
  let failedAt = Number.NEGATIVE_INFINITY
  let readAt = Number.NEGATIVE_INFINITY
  let isKnown = false
  const askForKeys: FetchImplementation = async (_, { signal }) => {
    // The clock may have been set back in the meantime.
    if (Math.abs(clock.now() - failedAt) < RETRY_MS) throw unreachable()
    try {
      const keys = await readKeys(discoveryUrl, { ...deps, signal })
      if (!isKnown) logger.info({ issuer }, 'operator.issuer-read')
      isKnown = true
      readAt = clock.now()
      return Response.json(keys)
    } catch (error) {
      failedAt = clock.now()
      isKnown = false
      logger.warn({ issuer, error }, 'operator.issuer-failed')
      throw unreachable(error)
    }
  }
  const keys = createRemoteJWKSet(discoveryUrl, {
    ...{ timeoutDuration: timeoutMs, cooldownDuration: COOL_DOWN_MS, cacheMaxAge: KEPT_MS },
    [customFetch]: askForKeys,
  })
  return {
    find: async (...[header, token]: Parameters<JWTVerifyGetKey>) => {
      // Otherwise the library would keep the keys longer, by the time that the clock was set back.
      if (clock.now() < readAt) await keys.reload()
      return await keys(header, token)
    },
    /** Asks the issuer, even if its keys are known. */
    reload: keys.reload,
  }
}

function unreachable(cause?: unknown) {
  const headers = { 'Retry-After': String(RETRY_MS / 1_000) }
  return unavailable({ reason: 'issuer_unreachable' }, { cause, headers, message: SAYS })
}

const SAYS = 'The issuer of the token is unavailable: try again later, or use a token of OPERATOR_TOKENS'

async function readKeys(
  discoveryUrl: URL,
  reading: IssuerReading & Pick<IssuerAccess, 'issuer'>,
): Promise<z.output<typeof keysSchema>> {
  const found = discoverySchema.safeParse(await readIssuerJson(discoveryUrl, reading))
  if (!found.success) throw new Error('The discovery document does not name issuer and jwks_uri')
  if (found.data.issuer !== reading.issuer) throw new Error('The discovery document names another issuer')
  const url = namedAddress('jwks_uri', found.data.jwks_uri, discoveryUrl)
  const keys = keysSchema.safeParse(await readIssuerJson(url, reading))
  if (!keys.success) throw new Error('The keys are not a JSON Web Key Set')
  return keys.data
}

type IssuerReading = Pick<IssuerAccess, 'fetch'> & { readonly signal: AbortSignal }

export const MAX_ISSUER_BYTES = 262_144

/** The address of the document in which an issuer describes itself (OpenID Connect Discovery 1.0 section 4). */
export function discoveryUrlOf(issuer: string): URL {
  return new URL(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`)
}

/**
 * Reads JSON from an issuer, at most 256 KiB. Redirects are not followed.
 * @throws Error if the answer is another
 */
export async function readIssuerJson(url: URL, { fetch, signal }: IssuerReading): Promise<unknown> {
  const response = await fetch(url, { headers: { Accept: 'application/json' }, redirect: 'manual', signal })
  const body = await readCapped(response, MAX_ISSUER_BYTES)
  if (response.status !== 200) throw new Error(`The issuer answered ${response.status}`)
  return parseStrictJson(body)
}

/**
 * An address that the document of an issuer names. The addresses of an https issuer must use https too. Plain HTTP is
 * safe on this machine only, and that issuer is elsewhere.
 * @throws Error if it is not safe
 */
export function namedAddress(name: string, text: string, discoveryUrl: URL): URL {
  const url = URL.parse(text)
  const isInClear = url?.protocol === 'http:' && discoveryUrl.protocol === 'https:'
  if (url === null || isInClear || !isSafeAddress(url)) throw new Error(`The ${name} is not an https URL`)
  return url
}
