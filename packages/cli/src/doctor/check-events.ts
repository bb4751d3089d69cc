import { ask, type OperatorClient } from '../operating/operator-client.ts'
import { toAge, toPrintable } from '../output.ts'
import { type Finding, ok, warning } from './finding.ts'

const OLD_SECONDS = 300

/** Whether events have failed for good, and whether the others keep moving. */
export async function checkEvents(client: OperatorClient): Promise<Finding[]> {
  const { states, deadByReason, oldestUnsettledSeconds: oldest } = await ask(client.overview.query())
  return [checkDead(states.dead, deadByReason), checkBacklog((states.pending ?? 0) + (states.processing ?? 0), oldest)]
}

function checkDead(dead: number | null, byReason: Readonly<Record<string, number>> | null): Finding {
  if (dead === 0) return ok('dead events', 'No event has failed for good')
  const reasons = Object.entries(byReason ?? {}).map(([reason, count]) => `${count} ${toPrintable(reason)}`)
  const says = `${dead ?? 'Unknown how many'} failed for good${reasons.length > 0 ? `: ${reasons.join(', ')}` : ''}`
  return warning(
    'dead events',
    says,
    'Look: oncehook events list --state dead; docs/operations.md tells what to do for each',
  )
}

function checkBacklog(unsettled: number, oldest: number | null): Finding {
  if (oldest === null) return warning('backlog', 'The database could not tell in time', 'See the load of MongoDB')
  if (unsettled === 0) return ok('backlog', 'Nothing waits')
  const says = `${unsettled} not settled, the oldest for ${toAge(oldest)}`
  if (oldest < OLD_SECONDS) return ok('backlog', says)
  return warning('backlog', says, 'See what they wait for: oncehook events list --state pending')
}

/** Whether receipts wait for a person. */
export async function checkReceipts(client: OperatorClient): Promise<Finding> {
  const { items, next } = await ask(client.receipts.list.query({ state: 'parked', limit: 100 }))
  if (items.length === 0) return ok('receipts', 'No receipt is parked')
  const count = next === null ? String(items.length) : `more than ${items.length}`
  return warning(
    'receipts',
    `${count} parked`,
    'Look: oncehook receipts list --state parked, then release or leave each',
  )
}
