import { rankCauses } from '@oncehook/gateway/webhooks/providers/explain-refusal'
import { clockCauseOf, headerFamiliesOf, observe } from '@oncehook/gateway/webhooks/providers/observe'
import { type Cause, SCHEMES } from '@oncehook/webhooks/providers'
import { UsageError } from '../command.ts'
import type { GivenCase } from '../verify/known-providers.ts'
import { type Attempt, findSignerOf, type Variation } from './attempt.ts'
import { bodyVariations } from './variations/body-variations.ts'
import { headerVariations } from './variations/header-variations.ts'
import { otherProviderVariations, otherSchemeVariations } from './variations/provider-variations.ts'
import { findUnreadable, readTriedSecrets, secretVariations, toLiveSecrets } from './variations/secret-variations.ts'
import { urlVariations } from './variations/url-variations.ts'

/** The causes of a refusal, the most likely first; no causes for an accepted delivery. */
export interface Explanation {
  /** The id of the secret that matched. */
  readonly acceptedBy: string | null
  readonly causes: readonly Cause[]
  readonly tried: number
}

const MAX_UNPACKED_BYTES = 16_000_000

/**
 * Looks for a correction of a refused delivery, now and, if its time has passed, as of the signed time. A cause is proved if
 * the gateway's own code accepts the delivery after that correction.
 */
export async function explainDelivery(given: GivenCase, url: string | undefined): Promise<Explanation> {
  const { asked, others, delivery, target, signedTime, now, fetch } = given
  const scheme = SCHEMES.get(asked.settings.scheme)
  if (scheme === undefined) throw new UsageError(`Unknown scheme ${asked.settings.scheme}`)
  const secrets = readTriedSecrets(asked, scheme)
  const attempt: Attempt = { scheme, settings: asked.settings, secrets: toLiveSecrets(secrets), delivery, now, fetch }
  const acceptedBy = await findSignerOf(attempt)
  if (acceptedBy !== null) return { acceptedBy, causes: [], tried: 1 }
  const variations = [
    ...secretVariations(asked, scheme),
    ...otherProviderVariations(asked, others),
    ...headerVariations(delivery, headerFamiliesOf(asked.settings)),
    ...urlVariations(asked.settings, { url, target, rawHeaders: delivery.rawHeaders, query: delivery.query }),
    ...otherSchemeVariations(asked, attempt),
    ...bodyVariations(delivery.rawBody, MAX_UNPACKED_BYTES),
  ]
  const clock = clockCauseOf(asked.settings, signedTime, now)
  const isLate = clock !== null && signedTime?.ms != null
  const tries: (readonly Variation[])[] = variations.map((one) => [one])
  if (isLate) {
    const late: Variation = { ...clock, apply: (one) => ({ ...one, now: signedTime.ms ?? now }) }
    tries.unshift([late])
    tries.push(...variations.map((one) => [late, one]))
  }
  const { causes, tried } = await findRemedy(attempt, tries)
  const seen = [...findUnreadable(secrets), ...observe(attempt, signedTime)]
  return { acceptedBy: null, causes: rankCauses(causes, seen, asked.settings.scheme), tried }
}

async function findRemedy(
  attempt: Attempt,
  tries: readonly (readonly Variation[])[],
): Promise<Pick<Explanation, 'causes' | 'tried'>> {
  let tried = 1
  for (const corrections of tries) {
    tried += 1
    const corrected = corrections.reduce((one, { apply }) => apply(one), attempt)
    if ((await findSignerOf(corrected)) === null) continue
    return { causes: corrections.map(({ cause, message, fix }) => ({ cause, proved: true, message, fix })), tried }
  }
  return { causes: [], tried }
}
