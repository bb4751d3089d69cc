import { EVENT_REASONS, type EventReason } from '../event-reasons.ts'
import { toPrintable, toTime } from '../output.ts'
import { toTableLines } from '../table.ts'
import type { OperatorClient } from './operator-client.ts'

/** All stored details of an event, from the operator API. */
export type EventDetails = Awaited<ReturnType<OperatorClient['events']['get']['query']>>

/** The operator API's verification of the stored bytes. */
export type Verification = Awaited<ReturnType<OperatorClient['events']['reverify']['query']>>

/** An event as JSON. It contains the body only if the operator API returned it. */
export function toEventDocument({ raw, ...event }: EventDetails, verified: Verification | null): object {
  return { ...event, ...(raw === null ? {} : { raw }), ...(verified === null ? {} : { verified }) }
}

/** An event as text. */
export function describeEvent(event: EventDetails, verified: Verification | null): string[] {
  const lines: (readonly [name: string, value: string | null])[] = [
    ['Event', `${event.eventId} of ${event.provider}`],
    ['Type', event.type],
    ['Handler', event.handler ?? null],
    ['Test', event.test ? 'yes: an operator sent it' : null],
    ['Object', event.objectId],
    ['Order', event.orderId],
    ['State', event.reason === null ? event.state : `${event.state}: ${event.reason}`],
    ...describeReason(event.reason),
    ['Outcome', describeOutcome(event)],
    ['Last error', event.lastError === null ? null : `${event.lastError.code}: ${event.lastError.message}`],
    ['Received', `${toTime(event.receivedAt)}, ${describeDeliveries(event)}`],
    ['Due', event.dueAt === null ? null : toTime(event.dueAt)],
    ['Waits for', event.waitsFor ? `${event.waitsFor}, an earlier task of its line` : null],
    ['Not sent', event.notSent ? NOT_SENT[event.notSent] : null],
    ['Settled', event.settledAt === null ? null : toTime(event.settledAt)],
    ['Revived', event.revivals === 0 ? null : `${describeTimes(event.revivals)} by a repeated delivery`],
    ['Closed', describeClosing(event)],
    ['Signed with', `the secret ${event.secretId}`],
    ['Verified now', describeVerification(verified)],
    [
      'Headers',
      Object.entries(event.headers)
        .map((header) => header.join(': '))
        .join(', '),
    ],
    ['Body', event.notReadable ?? `${event.bytes} bytes (--raw prints them)`],
  ]
  return [
    ...lines.flatMap(([name, value]) => (value === null ? [] : [`${name.padEnd(14)}${toPrintable(value)}`])),
    ...describeAttempts(event),
    ...describeReplays(event),
  ]
}

const NOT_SENT = {
  handler_removed: 'its handler is not in the setting',
  handler_paused: 'its handler is paused',
  provider_paused: 'its provider is paused',
}

function describeReason(reason: string | null): (readonly [name: string, value: string])[] {
  if (reason === null || !Object.hasOwn(EVENT_REASONS, reason)) return []
  const { why, cure } = EVENT_REASONS[reason as EventReason]
  return [
    ['Because', why],
    ['What to do', cure],
  ]
}

function describeOutcome({ outcome }: EventDetails): string | null {
  if (outcome === null) return null
  return outcome.version === null ? outcome.kind : `${outcome.kind}, order version ${outcome.version}`
}

function describeClosing({ closed }: EventDetails): string | null {
  return closed === null ? null : `${toTime(closed.at)} by ${closed.by}: ${closed.reason}`
}

function describeTimes(count: number): string {
  return count === 1 ? 'once' : `${count} times`
}

function describeDeliveries({ deliveries, mismatches }: EventDetails): string {
  const times = describeTimes(deliveries)
  return mismatches === 0 ? times : `${times}, ${mismatches} of them with another body`
}

function describeVerification(verified: Verification | null): string | null {
  if (verified === null) return null
  return verified.valid
    ? `authentic, signed with the secret ${verified.secretId}`
    : `not authentic: ${verified.failure}`
}

function describeAttempts({ attempts }: EventDetails): string[] {
  if (attempts.length === 0) return []
  const rows = attempts.map(({ at, ms, outcome, code, message }) => [toTime(at), `${ms} ms`, outcome, code, message])
  return ['', ...toTableLines(['AT', 'DURATION', 'OUTCOME', 'CODE', 'MESSAGE'], rows)]
}

function describeReading(notRead: string | null): string {
  return notRead === null ? 'remapped' : `not remapped: ${notRead}`
}

function describeReplays({ replays }: EventDetails): string[] {
  if (replays.length === 0) return []
  return [
    '',
    ...toTableLines(
      ['REPLAYED', 'BY', 'REASON', 'MAPPING'],
      replays.map(({ at, by, reason, notRead }) => [toTime(at), by, reason, describeReading(notRead)]),
    ),
  ]
}
