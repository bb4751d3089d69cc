import { ask, type OperatorClient } from '../operator/operator-client.ts'
import { toAge, toPrintable } from '../output.ts'
import { type Finding, ok, warning } from './finding.ts'

const OLD_SECONDS = 300

/** Checks for dead events and for a backlog. */
export async function checkEvents(client: OperatorClient): Promise<Finding[]> {
  const overview = await ask(client.overview.query())
  const { states, oldestUnsettledSeconds: oldest } = overview
  return [checkDead(overview), checkBacklog((states.pending ?? 0) + (states.processing ?? 0), oldest)]
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
    'Run oncehook events list --state dead; docs/operations.md describes what to do for each reason',
  )
}

function checkBacklog(unsettled: number, oldest: number | null): Finding {
  if (oldest === null) return warning('backlog', 'MongoDB did not answer in time', 'Check the load on MongoDB')
  if (unsettled === 0) return ok('backlog', 'Empty')
  const message = `${unsettled} not settled, the oldest is ${toAge(oldest)} old`
  if (oldest < OLD_SECONDS) return ok('backlog', message)
  return warning('backlog', message, 'Run oncehook events list --state pending to see why')
}

/** Checks for parked receipts. */
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
