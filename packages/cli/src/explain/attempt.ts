// `explain` varies the inputs of a signature check: an attempt is one such check, a variation changes one of its inputs.

import type {
  CheckSignature,
  Delivery,
  LiveSecret,
  PossibleCause,
  ProviderSettings,
  Scheme,
} from '@oncehook/webhooks/providers'

/** All inputs of a signature check. `explain` varies them. */
export interface Attempt {
  readonly scheme: Scheme
  readonly settings: ProviderSettings
  readonly secrets: readonly LiveSecret[]
  readonly delivery: Delivery
  /** Milliseconds. */
  readonly now: number
  readonly fetch: typeof globalThis.fetch
}

/** The id of the secret that makes the gateway accept the whole delivery, or null. */
export async function findSignerOf(attempt: Attempt): Promise<string | null> {
  const finding = await prepare(attempt)(attempt.delivery, attempt.now, attempt.fetch)
  return 'secretId' in finding && finding.refusedItems === undefined ? finding.secretId : null
}

const prepared = new WeakMap<readonly LiveSecret[], { settings: ProviderSettings; check: CheckSignature }>()

/** Preparing keys is expensive, and most attempts share them. */
function prepare({ scheme, settings, secrets }: Attempt): CheckSignature {
  const kept = prepared.get(secrets)
  if (kept?.settings === settings) return kept.check
  const check = scheme.prepare(settings, secrets)
  prepared.set(secrets, { settings, check })
  return check
}

export interface Variation extends PossibleCause {
  readonly apply: (attempt: Attempt) => Attempt
}
