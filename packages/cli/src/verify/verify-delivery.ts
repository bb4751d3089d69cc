import type { Refusal } from '@oncehook/webhooks'
import { createProvider, type Delivery, type Provider } from '@oncehook/webhooks/providers'
import { CommandFailure, UsageError } from '../exit-code.ts'
import type { KnownProvider } from './known-providers.ts'

/** How the gateway would verify a delivery. */
export type VerificationResult =
  | { readonly accepted: true; readonly secretId: string; readonly signedId: string | null; readonly counts: boolean }
  | {
      readonly accepted: false
      readonly refusal: Refusal
      /** The places of the items that are refused, if the gateway stores the others. */
      readonly items?: readonly number[]
    }

/** A delivery, the time of verification, and `fetch` for certificates. */
interface Checked {
  readonly delivery: Delivery
  /** Milliseconds. */
  readonly now: number
  readonly fetch: typeof globalThis.fetch
}

const MAX_BYTES = 16_000_000

/**
 * The provider as the gateway makes it.
 * @throws UsageError if the gateway would not start with these settings
 */
export function prepareVerifier(known: KnownProvider): Provider {
  const provider = createProvider({ ...known, maxBytes: MAX_BYTES })
  if (!('problems' in provider)) return provider
  throw new UsageError(
    `The gateway would not start with these settings of ${known.name}: ${provider.problems.join('; ')}`,
  )
}

/**
 * Verifies a delivery with the gateway's own code, as of `now`. `counts` is false if the gateway would have to confirm the
 * event with the provider first.
 * @throws UsageError if the gateway would not start with these settings
 * @throws CommandFailure if a required certificate cannot be fetched
 */
export async function verifyDelivery(known: KnownProvider, checked: Checked): Promise<VerificationResult> {
  const { delivery, now, fetch } = checked
  const provider = prepareVerifier(known)
  const result = await Promise.resolve(provider.verify(delivery, now, fetch)).catch((error: unknown) => {
    throw new CommandFailure('Cannot fetch the certificate: put it into the setting certificates', { cause: error })
  })
  if ('refused' in result) return { accepted: false, refusal: result.refused }
  const { secretId, signedId = null, refusedItems: items } = result
  if (items !== undefined) return { accepted: false, refusal: 'signature_mismatch', items }
  return { accepted: true, secretId, signedId, counts: provider.confirm === undefined }
}
