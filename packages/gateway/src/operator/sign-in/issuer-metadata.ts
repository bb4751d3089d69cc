import type { AppError } from '@oncehook/kernel/http/errors'
import type { Logger } from '@oncehook/kernel/log/logger'
import type { Clock } from '@oncehook/kernel/time/clock'
import { z } from 'zod'
import { signInUnavailable } from '../../errors.ts'
import { discoveryUrlOf, namedAddress, readIssuerJson } from '../access/issuer-document.ts'
import { RETRY_MS } from '../access/issuer-keys.ts'

/** Dependencies of the metadata of an issuer. */
export interface IssuerMetadataDeps {
  readonly issuer: string
  readonly fetch: typeof globalThis.fetch
  readonly clock: Clock
  readonly logger: Logger
}

const KEPT_MS = 600_000
/** How long the issuer may take to answer, in milliseconds. */
export const ISSUER_TIMEOUT_MS = 5_000

// The defaults are those of OpenID Connect Discovery 1.0 section 3 and RFC 9207 section 3.
const schema = z.object({
  issuer: z.string(),
  authorization_endpoint: z.string(),
  token_endpoint: z.string(),
  token_endpoint_auth_methods_supported: z.array(z.string()).default(['client_secret_basic']),
  id_token_signing_alg_values_supported: z.array(z.string()).default(['RS256']),
  authorization_response_iss_parameter_supported: z.boolean().default(false),
})

/** What an issuer says about its sign-in. */
export type IssuerMetadata = z.output<typeof schema>

/**
 * Creates the reader of what an issuer says about its sign-in. It is kept for 10 minutes. After a failure the issuer is
 * asked once in 10 s, and by many callers at once only once.
 * @throws signInUnavailable if the issuer does not answer within 5 s, or not as it should
 */
export function createIssuerMetadata(deps: IssuerMetadataDeps): () => Promise<IssuerMetadata> {
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
export function issuerUnreachable(cause?: unknown): AppError {
  const headers = { 'Retry-After': String(RETRY_MS / 1_000) }
  return signInUnavailable({ reason: 'issuer_unreachable' }, { cause, headers })
}

async function readMetadata({ issuer, fetch }: IssuerMetadataDeps): Promise<IssuerMetadata> {
  const url = discoveryUrlOf(issuer)
  const found = schema.safeParse(await readIssuerJson(url, { fetch, signal: AbortSignal.timeout(ISSUER_TIMEOUT_MS) }))
  if (!found.success) throw new Error('The discovery document does not name the endpoints of a sign-in')
  if (found.data.issuer !== issuer) throw new Error('The discovery document names another issuer')
  for (const name of ['authorization_endpoint', 'token_endpoint'] as const) namedAddress(name, found.data[name], url)
  return found.data
}
