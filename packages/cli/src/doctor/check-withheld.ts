import type { UnhandledReason } from '@oncehook/webhooks/providers'
import { EVENT_REASONS } from '../event-reasons.ts'
import { ask, type OperatorClient } from '../operator/operator-client.ts'
import { type Finding, ok, warning } from './finding.ts'

/** The reasons to count. Events of other types are stored all the time. */
const COUNTED = [
  'unreadable',
  'not_expected',
  'effect_not_allowed',
  'not_paid',
  'ambiguous',
] as const satisfies readonly UnhandledReason[]

/** Says for each reason how many authentic events have no effect because of it, and what to do. */
export async function checkWithheld(client: OperatorClient): Promise<Finding[]> {
  const findings = await Promise.all(COUNTED.map((reason) => checkReason(client, reason)))
  const found = findings.filter((finding) => finding !== null)
  return found.length > 0 ? found : [ok('withheld events', 'None')]
}

/** What there is to say about a reason; null if no event has it. */
export async function checkReason(client: OperatorClient, reason: (typeof COUNTED)[number]): Promise<Finding | null> {
  const { events, cut } = await ask(client.events.counts.query({ state: 'unhandled', reason }))
  if (events === 0 && cut === null) return null
  const { why, cure, isUsual } = EVENT_REASONS[reason]
  const message = `${cut === null ? '' : 'At least '}${events} without an effect: ${why} (${reason})`
  if (isUsual) return ok('withheld events', message)
  return warning(
    'withheld events',
    message,
    `Run oncehook events list --state unhandled --failed-with ${reason}. ${cure}`,
  )
}
