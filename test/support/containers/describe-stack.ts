import { TIMED_OUT, withTimeout } from '@oncehook/kernel/time/waits'
import type { WebhookSource } from '../load/webhook-source.ts'
import type { ContainerStack } from './container-stack.ts'

const LINES_TOLD = 12
const LOOK_MS = 5_000

/** The state of a stack and its load, for a failed test: answers, events, receipts, and the last lines of each service. */
export async function describeStack(stack: ContainerStack, source: WebhookSource): Promise<string[]> {
  const { offered, accepted, left, waiting } = source
  const states = (field: string) => [{ $group: { _id: field, count: { $sum: 1 } } }]
  const receipts = [{ $unwind: '$receipts' }, ...states('$receipts.state')]
  return [
    `Load: ${offered} offered, ${accepted} accepted, ${left} left, ${waiting} of these new and not begun`,
    `Answers: ${listOf(stack.answers)}`,
    `Events: ${await looked(async () => countsOf(await stack.events.aggregate(states('$state')).toArray()))}`,
    `Receipts: ${await looked(async () => countsOf(await stack.orderRecords.aggregate(receipts).toArray()))}`,
    ...(await Promise.all(
      [...stack.gateways, ...stack.fulfilments].map(({ name, container }) =>
        looked(async () => `${name}, ${await container.state()}: ${tailOf(await container.written(), stack)}`),
      ),
    )),
  ]
}

function listOf(counts: ReadonlyMap<string, number>): string {
  return Array.from(counts, ([name, count]) => `${count} x ${name}`).join(', ') || 'none'
}

function countsOf(groups: readonly Readonly<Record<string, unknown>>[]): string {
  return groups.map(({ _id, count }) => `${count} ${_id}`).join(', ') || 'none'
}

/** The last lines of a log; none if they contain something that must not be shown. */
function tailOf(written: string, { leaksIn }: ContainerStack): string {
  const tail = written.trimEnd().split('\n').slice(-LINES_TOLD).join('\n  ')
  const leaks = leaksIn(tail)
  return leaks.length === 0 ? `\n  ${tail}` : `not shown (${leaks.join(', ')})`
}

/** The result of `look`, or the error, because the database or the engine may be unavailable. */
async function looked(look: () => Promise<string>): Promise<string> {
  const found = await withTimeout(look(), LOOK_MS).catch((error: unknown) => `not known (${String(error)})`)
  return found === TIMED_OUT ? `not known within ${LOOK_MS / 1_000} s` : found
}
