// `oncehook verify`: verifies a delivery with the code of the gateway, without asking one.

import type { SignedTime } from '@oncehook/gateway/webhooks/providers/observe'
import type { AddCommand, CliContext } from '../command.ts'
import { toPrintable, toTime } from '../output.ts'
import { addDeliveryCommand, type DeliveryFinding, type DeliveryOptions } from '../verify/given-delivery.ts'
import {
  describeSettings,
  type GivenCase,
  readGiven,
  UNCONFIRMED,
  type VerificationResult,
  verifyDelivery,
} from '../verify/known-providers.ts'

export const addVerifyCommand: AddCommand = (program, deps) =>
  addDeliveryCommand(program, deps, {
    name: 'verify',
    description: 'Check whether a delivery is authentic, with the verifiers of the gateway.',
    examine: verifyGiven,
  })

type GivenVerification = GivenCase & { readonly result: VerificationResult }

async function verifyGiven(
  file: string | undefined,
  options: DeliveryOptions,
  context: CliContext,
): Promise<DeliveryFinding> {
  const given = await readGiven(file, options, context)
  const verified = { ...given, result: await verifyDelivery(given) }
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

function toDocument({ asked, place, result: { accepted, ...more }, signedTime }: GivenVerification): object {
  const about = { provider: asked.name, scheme: asked.settings.scheme, settings: place, signedAt: toIso(signedTime) }
  return { result: accepted ? 'accepted' : 'refused', ...about, ...more }
}

function toIso(time: SignedTime | null): string | null {
  return time === null || time.ms === null ? null : new Date(time.ms).toISOString()
}
