import type { Delivery } from '@oncehook/webhooks/providers'
import { isBodyGone } from '../../inbox/bodies.ts'
import type { EventDocument } from '../../inbox/event-document.ts'
import type { Providers } from '../../webhooks/providers/providers.ts'

export interface ReverifyDeps {
  readonly providers: () => Providers
  readonly fetch: typeof globalThis.fetch
}

/**
 * Whether stored bytes and headers are authentic with the current secrets, as of the time at which they came. `failure` says why not:
 * `provider_unknown` (no longer configured), `body_expired`, or the reason of the check.
 */
export async function reverifyEvent(record: EventDocument, { providers, fetch }: ReverifyDeps) {
  const provider = providers().get(record.provider)
  if (provider === undefined) return failed('provider_unknown')
  const rawBody = Buffer.from(record.raw.value())
  const rawHeaders = Object.entries(record.headers).flat()
  if (isBodyGone(record)) return failed('body_expired')
  const delivery: Delivery = { rawBody, rawHeaders, query: record.query ?? '', isStored: true }
  const verdict = await provider.verify(delivery, record.receivedAt.getTime(), fetch)
  if ('refused' in verdict) return failed(verdict.refused)
  return { valid: true, secretId: verdict.secretId, failure: null, verified: verdict }
}

function failed(failure: string) {
  return { valid: false, secretId: null, failure, verified: null }
}
