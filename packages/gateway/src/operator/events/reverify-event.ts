import type { Delivery, VerifiedDelivery } from '@oncehook/webhooks/providers'
import { isBodyGone } from '../../inbox/bodies.ts'
import type { EventDocument } from '../../inbox/event-document.ts'
import type { Providers } from '../../webhooks/providers/providers.ts'

/** Whether stored bytes and headers are authentic with the current secrets, as of the time at which they came. */
export interface Reverified {
  readonly valid: boolean
  readonly secretId: string | null
  /** Why not: `provider_unknown` (no longer configured), `body_expired`, or the reason of the check. */
  readonly failure: string | null
  readonly verified: VerifiedDelivery | null
}

export interface ReverifyDeps {
  readonly providers: () => Providers
  readonly fetch: typeof globalThis.fetch
}

export async function reverifyEvent(record: EventDocument, { providers, fetch }: ReverifyDeps): Promise<Reverified> {
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

function failed(failure: string): Reverified {
  return { valid: false, secretId: null, failure, verified: null }
}
