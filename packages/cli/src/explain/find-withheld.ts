import {
  firstUnmet,
  isPaymentEventType,
  resolvePointer,
  SCHEMES,
  unhandledReason,
  type WebhookEvent,
} from '@oncehook/webhooks/providers'
import { EVENT_REASONS, type EventReason } from '../event-reasons.ts'
import { toPrintable } from '../output.ts'
import type { GivenCase } from '../verify/verify-given.ts'

/** Why an authentic delivery has no effect. */
export interface Withheld {
  readonly reason: EventReason
  /** The first property that is not as expected, as a JSON Pointer. */
  readonly pointer?: string
}

/** Why events have no effect, each reason once. */
export function findWithheld(
  events: readonly WebhookEvent[],
  given: Pick<GivenCase, 'asked' | 'delivery'>,
): readonly Withheld[] {
  const found = events.flatMap((event): Withheld[] => {
    const reason = unhandledReason(event, isPaymentEventType) ?? event.facts.unreadable
    if (reason === undefined) return []
    return [{ reason, ...(reason === 'not_expected' ? unexpectedPart(event, given) : {}) }]
  })
  return [...new Map(found.map((one) => [`${one.reason} ${one.pointer}`, one])).values()]
}

function unexpectedPart(
  { facts }: WebhookEvent,
  { asked: { settings }, delivery }: Pick<GivenCase, 'asked' | 'delivery'>,
): Pick<Withheld, 'pointer'> {
  const expected = { ...SCHEMES.get(settings.scheme)?.permits.expect?.(settings), ...settings.expect }
  const document = resolvePointer(parsed(delivery.rawBody), facts.pointer ?? '')
  const pointer = firstUnmet(document, expected)
  return pointer === null ? {} : { pointer }
}

function parsed(rawBody: Buffer): unknown {
  try {
    return JSON.parse(rawBody.toString('utf8'))
  } catch {
    return undefined
  }
}

const UNREADABLE: ReadonlySet<EventReason> = new Set(['amount_missing', 'amount_mismatch', 'currency_mismatch'])

/** The lines for a reason: in words, and what to do. */
export function describeWithheld({ reason, pointer }: Withheld): string[] {
  const { why, cure } = EVENT_REASONS[reason]
  const where = pointer === undefined ? '' : `, here because of ${toPrintable(pointer)}`
  const result = UNREADABLE.has(reason) ? 'It will be dead' : 'No effect on an order'
  return [`${result}: ${why}${where} (${reason})`, `  ${cure}`]
}
