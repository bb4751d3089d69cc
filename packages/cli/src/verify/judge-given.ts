import type { CliContext } from '../cli-context.ts'
import { toPrintable, toTime } from '../output.ts'
import { type DeliveryOptions, refuseSecretArgument } from './delivery-options.ts'
import { findKnownProviders, type KnownProviders } from './known-providers.ts'
import { type GivenDelivery, readDelivery } from './read-delivery.ts'
import { findSignedTime, type SignedTime } from './signed-time.ts'
import { type GatewayVerdict, verifyDelivery } from './verify-delivery.ts'

/** A delivery with its provider and its verdict. */
export interface JudgedDelivery extends GivenDelivery, KnownProviders {
  /** Milliseconds. */
  readonly now: number
  readonly fetch: typeof globalThis.fetch
  readonly signedTime: SignedTime | null
  readonly verdict: GatewayVerdict
}

/** The delivery and provider of the options, before verification. */
export type GivenCase = Omit<JudgedDelivery, 'verdict'>

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
 * Verifies the delivery of the options.
 * @throws UsageError
 * @throws CommandFailure
 */
export async function judgeGiven(
  file: string | undefined,
  options: DeliveryOptions,
  context: CliContext,
): Promise<JudgedDelivery> {
  const given = await readGiven(file, options, context)
  return { ...given, verdict: await verifyDelivery(given.asked, given) }
}

/** The output of `verify`. */
export function describeVerdict({ asked, verdict, signedTime }: JudgedDelivery): string[] {
  const who = `${asked.name} (${asked.settings.scheme})`
  if (!verdict.accepted) {
    return [
      `Refused    by ${who}: ${verdict.refusal}`,
      'Run `oncehook explain` with the same arguments to find out why',
    ]
  }
  return [
    `Accepted   by ${who}, secret ${toPrintable(verdict.secretId)}`,
    `Signed id  ${verdict.signedId === null ? 'none' : toPrintable(verdict.signedId)}`,
    `Signed at  ${toTime(toIso(signedTime))}`,
    ...(verdict.counts ? [] : ['Not enough is signed: the gateway must first confirm the event with the provider']),
  ]
}

/** The output of `verify --json`. */
export function toVerdictDocument({ asked, verdict, signedTime }: JudgedDelivery): object {
  const { name: provider, settings } = asked
  const scheme = settings.scheme
  return verdict.accepted
    ? { result: 'accepted', provider, scheme, ...pick(verdict), signedAt: toIso(signedTime) }
    : { result: 'refused', provider, scheme, refusal: verdict.refusal }
}

function pick({ secretId, signedId, counts }: GatewayVerdict & { accepted: true }): object {
  return { secretId, signedId, mustBeConfirmed: !counts }
}

function toIso(time: SignedTime | null): string | null {
  return time === null || time.ms === null ? null : new Date(time.ms).toISOString()
}
