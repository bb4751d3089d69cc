import { findSignedTime, type SignedTime } from '@oncehook/gateway/providers/explain/signed-time'
import type { CliContext } from '../cli-context.ts'
import { toPrintable, toTime } from '../output.ts'
import type { DeliveryFinding } from './add-delivery-command.ts'
import { type DeliveryOptions, refuseSecretArgument } from './delivery-options.ts'
import { findKnownProviders, type KnownProviders } from './known-providers.ts'
import { type GivenDelivery, readDelivery } from './read-delivery.ts'
import { type VerificationResult, verifyDelivery } from './verify-delivery.ts'

/** A delivery, its provider, and the result of its verification. */
interface GivenVerification extends GivenDelivery, KnownProviders {
  /** Milliseconds. */
  readonly now: number
  readonly fetch: typeof globalThis.fetch
  readonly signedTime: SignedTime | null
  readonly result: VerificationResult
}

/** The delivery and provider of the options, before verification. */
export type GivenCase = Omit<GivenVerification, 'result'>

/**
 * Reads the delivery and the provider of the options.
 * @throws UsageError
 */
export async function readGiven(
  file: string | undefined,
  options: DeliveryOptions,
  context: CliContext,
): Promise<GivenCase> {
  refuseSecretArgument(options)
  const providers = await findKnownProviders(options, context)
  const given = await readDelivery(file, options, context)
  const signedTime = findSignedTime(providers.asked.settings, given.delivery)
  return { ...given, ...providers, signedTime, now: options.now ?? context.now(), fetch: context.fetch }
}

/**
 * Verifies the delivery of the options, for `oncehook verify`.
 * @throws UsageError
 * @throws CommandFailure
 */
export async function verifyGiven(
  file: string | undefined,
  options: DeliveryOptions,
  context: CliContext,
): Promise<DeliveryFinding> {
  const given = await readGiven(file, options, context)
  const verified = { ...given, result: await verifyDelivery(given.asked, given) }
  return { isAccepted: verified.result.accepted, lines: describe(verified), document: toDocument(verified) }
}

function describe({ asked, place, result, signedTime }: GivenVerification): string[] {
  const who = `${asked.name} (${asked.settings.scheme})`
  const settings = describeSettings(place)
  if (!result.accepted) {
    const items = result.items?.join(', ')
    return [
      settings,
      `Refused    by ${who}: ${result.refusal}`,
      ...(items === undefined ? [] : [`Items      ${items} (counted from 0); the gateway stores the others`]),
      'Run `oncehook explain` with the same arguments to find out why',
    ]
  }
  return [
    settings,
    `Accepted   by ${who}, secret ${toPrintable(result.secretId)}`,
    `Signed id  ${result.signedId === null ? 'none' : toPrintable(result.signedId)}`,
    `Signed at  ${toTime(toIso(signedTime))}`,
    ...(result.counts ? [] : [UNCONFIRMED]),
  ]
}

/** The line for a delivery that proves too little by itself. */
export const UNCONFIRMED = 'Not enough is signed: the gateway must first confirm the event with the provider'

/** The line that says whose settings a result is about. */
export function describeSettings(place: string): string {
  return `Settings   ${toPrintable(place)}`
}

function toDocument({ asked, place, result, signedTime }: GivenVerification): object {
  const { name: provider, settings } = asked
  const about = { provider, scheme: settings.scheme, settings: place }
  return result.accepted
    ? { result: 'accepted', ...about, ...pick(result), signedAt: toIso(signedTime) }
    : { result: 'refused', ...about, refusal: result.refusal, ...(result.items && { items: result.items }) }
}

function pick({ secretId, signedId, counts }: VerificationResult & { accepted: true }): object {
  return { secretId, signedId, mustBeConfirmed: !counts }
}

function toIso(time: SignedTime | null): string | null {
  return time === null || time.ms === null ? null : new Date(time.ms).toISOString()
}
