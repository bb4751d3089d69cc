// The checks of what waits: dead events, events without an effect, a backlog, parked receipts and pauses.

import type { UnhandledReason } from '@oncehook/webhooks/providers'
import { EVENT_REASONS } from '../event-reasons.ts'
import { ask, type OperatorClient } from '../operator/operator-client.ts'
import { toAge, toPrintable } from '../output.ts'
import { type Finding, ok, warning } from './finding.ts'

const OLD_SECONDS = 300

export async function checkEvents(client: OperatorClient): Promise<Finding[]> {
  const overview = await ask(client.overview.query())
  const { states, oldestUnsettledSeconds: oldest } = overview
  const backlog = checkBacklog((states.pending ?? 0) + (states.processing ?? 0), oldest)
  return [checkDead(overview), backlog, checkPauses(overview)]
}

type Overview = Awaited<ReturnType<OperatorClient['overview']['query']>>

function checkDead({ states: { dead }, deadByReason, deadOfOtherReasons }: Overview): Finding {
  if (dead === 0) return ok('dead events', 'No dead events')
  const listed = Object.entries(deadByReason ?? {}).map(([reason, count]) => `${count} ${toPrintable(reason)}`)
  const reasons = deadOfOtherReasons ? [...listed, `${deadOfOtherReasons} for other reasons`] : listed
  const message = `${dead ?? 'An unknown number'} dead${reasons.length > 0 ? `: ${reasons.join(', ')}` : ''}`
  return warning(
    'dead events',
    message,
    'Run oncehook events list --state dead; docs/how-to/replay.md describes what to do for each reason',
  )
}

/** An operator or a setting wanted this, so it is not a problem. */
function checkPauses({ pausedProviders, pausedHandlers }: Overview): Finding {
  const paused = [...pausedProviders, ...pausedHandlers.map((name) => `handler ${name}`)].map(toPrintable)
  if (paused.length === 0) return ok('pauses', 'No provider and no handler is paused')
  return ok('pauses', `Paused: ${paused.join(', ')} (providers list and handlers list show why)`)
}

function checkBacklog(unsettled: number, oldest: number | null): Finding {
  if (oldest === null) return warning('backlog', 'MongoDB did not answer in time', 'Check the load on MongoDB')
  if (unsettled === 0) return ok('backlog', 'Empty')
  const message = `${unsettled} not settled, the oldest is ${toAge(oldest)} old`
  if (oldest < OLD_SECONDS) return ok('backlog', message)
  return warning('backlog', message, 'Run oncehook events list --state pending to see why')
}

export async function checkReceipts(client: OperatorClient): Promise<Finding> {
  const { items, next } = await ask(client.receipts.list.query({ state: 'parked', limit: 100 }))
  if (items.length === 0) return ok('receipts', 'No parked receipts')
  const count = next === null ? String(items.length) : `more than ${items.length}`
  return warning(
    'receipts',
    `${count} parked`,
    'Run oncehook receipts list --state parked, then release or leave each one',
  )
}

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
