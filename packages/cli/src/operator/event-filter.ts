// The options that select events, for every command that lists, replays or backfills some.

import { type Command, InvalidArgumentError, Option } from 'commander'
import type { OperatorClient } from './operator-client.ts'

/** The filter as the operator API takes it. Its times are in ISO 8601. */
export type EventFilter = Readonly<
  NonNullable<Parameters<OperatorClient['handlers']['backfill']['mutate']>[0]['filter']>
>

export interface EventFilterOptions extends Omit<EventFilter, 'reason' | 'orderId' | 'paymentId'> {
  readonly failedWith?: string
  readonly order?: string
  readonly payment?: string
}

const STATES = ['pending', 'processing', 'done', 'unhandled', 'dead', 'closed']

export function addEventFilterOptions(command: Command): Command {
  return command
    .option('--provider <name>', 'from this provider')
    .option('--event-id <id>', "with this provider's id")
    .option('--type <type>', 'of this type, such as payment.succeeded')
    .addOption(new Option('--state <state>', 'in this state').choices(STATES))
    .option('--failed-with <code>', 'that failed with this code, such as amount_mismatch')
    .option('--handler <name>', 'for this handler; fulfilment is the built-in one')
    .option('--order <id>', 'about this order')
    .option('--payment <id>', 'about this payment')
    .addOption(
      new Option(
        '--duplicates <kind>',
        'received more than once (repeated), with another body (changed), or either (any)',
      ).choices(['any', 'repeated', 'changed']),
    )
    .option('--secret-id <id>', 'signed with the secret that has this id')
    .option('--test', 'test events only')
    .option('--no-test', 'without test events')
    .option('--from <time>', 'received at or after this time: ISO 8601, or an age such as 90m, 2h, 3d', readTime)
    .option('--to <time>', 'received before this time', readTime)
}

export function toEventFilter(options: EventFilterOptions): EventFilter {
  const { provider, eventId, type, state, failedWith: reason, handler, order: orderId, payment: paymentId } = options
  const { duplicates, secretId, test, from, to } = options
  const filter = {
    ...{ provider, eventId, type, state, reason, handler, orderId, paymentId },
    ...{ duplicates, secretId, test, from, to },
  }
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined))
}

const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const INSTANT = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d))?$/

function readTime(text: string): string {
  const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  if (count !== undefined) return new Date(Date.now() - Number(count) * (UNITS_MS[unit] ?? 0)).toISOString()
  const instant = new Date(INSTANT.test(text) ? text : Number.NaN)
  if (!Number.isNaN(instant.getTime())) return instant.toISOString()
  throw new InvalidArgumentError(
    'Must be a time such as 2026-11-21T08:00:00Z or 2026-11-21, or an age such as 90m, 2h, 3d.',
  )
}
