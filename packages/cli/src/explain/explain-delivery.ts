import { rankCauses } from '@oncehook/gateway/webhooks/providers/explain-refusal'
import { clockCauseOf, headerFamiliesOf, observe, type SignedTime } from '@oncehook/gateway/webhooks/providers/observe'
import { type Cause, SCHEMES } from '@oncehook/webhooks/providers'
import { UsageError } from '../command.ts'
import type { GivenCase } from '../verify/known-providers.ts'
import { type Attempt, findSignerOf, type Variation } from './attempt.ts'
import { bodyVariations } from './variations/body-variations.ts'
import { headerVariations } from './variations/header-variations.ts'
import { hasOwnHeaders, otherProviderVariations, otherSchemeVariations } from './variations/provider-variations.ts'
import { findUnreadable, readTriedSecrets, secretVariations, toLiveSecrets } from './variations/secret-variations.ts'
import { settingsVariations } from './variations/settings-variations.ts'
import { urlVariations } from './variations/url-variations.ts'

/** The causes of a refusal, the most likely first; no causes for an accepted delivery. */
export interface Explanation {
  /** The id of the secret that matched. */
  readonly acceptedBy: string | null
  readonly causes: readonly Cause[]
  /** The number of attempts. */
  readonly tried: number
}

/** Pairs of changes are not tried for larger bodies, because each attempt reads the whole body. */
const MAX_PAIRED_BYTES = 65_536
const MAX_UNPACKED_BYTES = 16_000_000

/**
 * Looks for a correction of a refused delivery: single changes first, then pairs. A cause is proved if the gateway's own code
 * accepts the delivery after that correction.
 */
export async function explainDelivery(given: GivenCase, url: string | undefined): Promise<Explanation> {
  const { asked, others, delivery, target, signedTime, now, fetch } = given
  const scheme = SCHEMES.get(asked.settings.scheme)
  if (scheme === undefined) throw new UsageError(`Unknown scheme ${asked.settings.scheme}`)
  const tried = readTriedSecrets(asked, scheme)
  const attempt: Attempt = { scheme, settings: asked.settings, secrets: toLiveSecrets(tried), delivery, now, fetch }
  const acceptedBy = await findSignerOf(attempt)
  if (acceptedBy !== null) return { acceptedBy, causes: [], tried: 1 }
  const variations = [
    ...clockVariations(attempt, signedTime),
    ...secretVariations(asked, scheme),
    ...otherProviderVariations(asked, others),
    ...settingsVariations(attempt),
    ...headerVariations(delivery, headerFamiliesOf(asked.settings)),
    ...urlVariations(asked.settings, { url, target, rawHeaders: delivery.rawHeaders, query: delivery.query }),
    ...otherSchemeVariations(asked, attempt),
    ...bodyVariations(delivery.rawBody, MAX_UNPACKED_BYTES),
  ]
  const search = await findRemedy(attempt, variations)
  const seen = [...findUnreadable(tried), ...observe(attempt, signedTime)]
  return { acceptedBy: null, causes: rankCauses(search.causes, seen, asked.settings.scheme), tried: search.tried }
}

interface Search {
  readonly causes: readonly Cause[]
  readonly tried: number
}

async function findRemedy(attempt: Attempt, variations: readonly Variation[]): Promise<Search> {
  let tried = 1
  for (const one of variations) {
    tried += 1
    if ((await findSignerOf(one.apply(attempt))) !== null) return { causes: [toProved(one)], tried }
  }
  if (attempt.delivery.rawBody.length > MAX_PAIRED_BYTES) return { causes: [], tried }
  for (const [one, other] of pairsOf(variations)) {
    const both = other.apply(one.apply(attempt))
    if (!hasOwnHeaders(both)) continue
    tried += 1
    if ((await findSignerOf(both)) !== null) {
      return { causes: [toProved(one), toProved(other)], tried }
    }
  }
  return { causes: [], tried }
}

function* pairsOf(variations: readonly Variation[]): Generator<readonly [Variation, Variation]> {
  for (const [index, one] of variations.entries()) {
    for (const other of variations.slice(index + 1)) if (one.axis !== other.axis) yield [one, other]
  }
}

function toProved({ cause, message, fix }: Variation): Cause {
  return { cause, proved: true, message, fix }
}

/** The attempt at the signed time. */
function clockVariations({ settings, now }: Attempt, time: SignedTime | null): Variation[] {
  const cause = clockCauseOf(settings, time, now)
  return cause === null ? [] : [{ ...cause, axis: 'clock', apply: (attempt) => ({ ...attempt, now: time?.ms ?? now }) }]
}
