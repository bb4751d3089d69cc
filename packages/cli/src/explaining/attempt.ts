import type { Delivery } from '@oncehook/gateway/providers/delivery'
import type { CheckSignature, ProviderSettings, Scheme } from '@oncehook/gateway/providers/scheme'
import type { LiveSecret } from '@oncehook/gateway/providers/signature'

/** Everything that a signature is checked with: what is varied one at a time to see what makes it right. */
export interface Attempt {
  readonly scheme: Scheme
  readonly settings: ProviderSettings
  readonly secrets: readonly LiveSecret[]
  readonly delivery: Delivery
  /** Milliseconds. */
  readonly now: number
  readonly fetch: typeof globalThis.fetch
}

/** The id of the secret by which the gateway would accept it, or null. */
export async function findSignerOf(attempt: Attempt): Promise<string | null> {
  const finding = await prepare(attempt)(attempt.delivery, attempt.now, attempt.fetch)
  return 'secretId' in finding ? finding.secretId : null
}

const prepared = new WeakMap<readonly LiveSecret[], { settings: ProviderSettings; check: CheckSignature }>()

/** Making keys ready is the dearest part, and most attempts share them. */
function prepare({ scheme, settings, secrets }: Attempt): CheckSignature {
  const kept = prepared.get(secrets)
  if (kept?.settings === settings) return kept.check
  const check = scheme.prepare(settings, secrets)
  prepared.set(secrets, { settings, check })
  return check
}
