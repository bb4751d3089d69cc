import { unavailable } from '@oncehook/kernel/http/error-codes'
import { TIMED_OUT, withTimeout } from '@oncehook/kernel/time/waits'
import { UNSIGNED, type VerifiedDelivery, type WebhookEvent } from '@oncehook/webhooks/providers'
import { notChecked, notStored, signatureInvalid } from '../errors.ts'
import type { Transmissions } from '../inbox/transmissions.ts'
import type { ReceiveDeps, ReceivedDelivery } from './receive-webhook.ts'

/** The reason for rejecting a delivery whose transmission arrived with another body before. */
export const TRANSMISSION_REUSED = 'transmission_reused'

// RFC 9110 section 15.5.2 requires a challenge. The scheme name is our choice.
export const CHALLENGE = { headers: { 'WWW-Authenticate': 'Signature realm="webhooks"' } }

interface VerifiedReceived extends ReceivedDelivery {
  readonly verified: VerifiedDelivery
}

/**
 * Proves the events of a delivery whose signature proves too little. The provider confirms them, and the transmission is
 * bound to its body. For most schemes, this does nothing.
 * @throws signatureInvalid for an event that the provider does not know, or a reused transmission
 * @throws notStored, notChecked, rateLimited, overloaded
 */
export async function confirmEvents(
  deps: Pick<ReceiveDeps, 'fetch' | 'transmissions'>,
  events: readonly WebhookEvent[],
  received: VerifiedReceived,
): Promise<readonly WebhookEvent[]> {
  const confirmed = await confirmAll(deps, events, received)
  await bindTransmission(deps.transmissions.bind, received)
  return confirmed
}

/** Binds a transmission to its first body. Its signature covers only a checksum, so it must not be valid for another body. */
async function bindTransmission(
  bind: Transmissions['bind'],
  { provider, endsAt, verified: { transmission, rawBody } }: VerifiedReceived,
): Promise<void> {
  if (transmission === undefined) return
  const bound = await inTime(bind({ ...transmission, provider: provider.name, rawBody }), endsAt)
  if (bound === 'unknown') throw notStored()
  if (bound === 'reused') {
    throw signatureInvalid({ reason: TRANSMISSION_REUSED, transmissionId: transmission.id }, CHALLENGE)
  }
}

/** Replaces each event with the provider's answer about it. An event that the provider does not know is treated as forged. */
async function confirmAll(
  { fetch, transmissions }: Pick<ReceiveDeps, 'fetch' | 'transmissions'>,
  events: readonly WebhookEvent[],
  received: VerifiedReceived,
): Promise<readonly WebhookEvent[]> {
  const { provider, endsAt, verified, askFor } = received
  const { confirm } = provider
  if (confirm === undefined) return events
  const ask = () => Promise.all(events.map((event) => confirm(event, fetch)))
  // If the signature covers only a checksum, a stranger who has intercepted one delivery can make us ask, too.
  const isVouchedFor = verified.secretId !== UNSIGNED && verified.transmission === undefined
  const confirmed = async () => {
    await bindTransmission(transmissions.find, received)
    return isVouchedFor ? answeredInTime(ask(), endsAt) : checkedInTime(ask(), endsAt)
  }
  const answers = isVouchedFor ? await confirmed() : await askFor(confirmed)
  return answers.map((answer) => {
    if ('event' in answer) return answer.event
    throw signatureInvalid({ reason: answer.refused }, CHALLENGE)
  })
}

/**
 * Waits until `endsAt`, a value of `performance.now()`.
 * @throws notStored after that
 */
async function inTime<T>(promise: Promise<T>, endsAt: number): Promise<T> {
  const value = await withTimeout(promise, Math.max(0, endsAt - performance.now()))
  if (value === TIMED_OUT) throw notStored({ late: true })
  return value
}

/** @throws notChecked if it cannot be checked now: it is checked when it is delivered again */
export async function checkedInTime<T>(check: Promise<T>, endsAt: number): Promise<T> {
  try {
    return await inTime(check, endsAt)
  } catch (error) {
    if (unavailable.is(error) || notStored.is(error)) throw notChecked(error.details, { cause: error })
    throw error
  }
}

/** @throws notStored if the provider cannot be asked now: it is asked when the delivery arrives again */
async function answeredInTime<T>(answer: Promise<T>, endsAt: number): Promise<T> {
  try {
    return await inTime(answer, endsAt)
  } catch (error) {
    throw unavailable.is(error) ? notStored(error.details, { cause: error }) : error
  }
}
