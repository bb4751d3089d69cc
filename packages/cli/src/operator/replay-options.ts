import type { Command } from 'commander'
import { UsageError } from '../exit-code.ts'
import { readPositive, readWhole } from '../options/option-values.ts'
import {
  addEventFilterOptions,
  type EventFilter,
  type EventFilterOptions,
  toEventFilter,
} from './event-filter-options.ts'
import { addOperatorOptions, type OperatorOptions } from './operator-options.ts'

/** The options of `oncehook events replay`. */
export interface ReplayOptions extends EventFilterOptions, OperatorOptions {
  readonly all?: boolean
  readonly reason?: string
  readonly dryRun?: boolean
  readonly rate?: number
  readonly includeDone?: boolean
  readonly wait: boolean
  readonly timeout: number
  readonly cancelOnInterrupt?: boolean
}

const MOST_IDS = 1_000

const exits = `
Without --state, only dead events are replayed. An event that already had its effect has no second effect.
Exits with 0 if every replayed event is settled (with --dry-run or --no-wait: if the gateway accepted the request), with 1 if
an event is dead again or not settled in time, or if the replay was refused or cancelled, and with 2 for wrong usage.`

/** Gives a command the options of `ReplayOptions`. */
export function addReplayOptions(command: Command): Command {
  addEventFilterOptions(command)
    .option('--all', 'replay all dead events')
    .option('--reason <text>', 'reason for the audit log (a terminal prompts for it)')
    .option('--dry-run', 'only count the events that would be replayed')
    .option('--rate <n>', 'at most n events per second', readWhole(1, 10_000))
    .option('--include-done', 'also replay events that are done')
    .option('--no-wait', 'do not wait until the events are settled')
    .option('--timeout <seconds>', 'how long to wait for the last events', readPositive, 60)
    .option('--cancel-on-interrupt', 'Ctrl-C also cancels the replay (default: it continues in the gateway)')
    .addHelpText('after', exits)
  return addOperatorOptions(command)
}

/** The events to replay, for the operator API. */
export type ReplayTarget = { readonly ids: string[] } | { readonly filter: EventFilter }

/**
 * Converts ids and options to a target.
 * @throws UsageError if they select nothing, or conflict
 */
export function toReplayTarget(ids: readonly string[], options: ReplayOptions, now: number): ReplayTarget {
  const filter = toEventFilter(options, now)
  const filtered = Object.keys(filter).length > 0
  if (ids.length > MOST_IDS) throw new UsageError(`Give at most ${MOST_IDS} ids, or a filter`)
  if (ids.length > 0 && (filtered || options.all)) throw new UsageError('Give ids or a filter, not both')
  if (ids.length > 0) return { ids: [...ids] }
  if (!filtered && !options.all) throw new UsageError('Give ids, a filter such as --failed-with, or --all')
  if (filter.state === 'processing') throw new UsageError('Events that are being processed cannot be replayed')
  if (filter.state === 'done' && !options.includeDone) throw new UsageError('--state done needs --include-done')
  if (filter.state !== undefined || options.includeDone) return { filter }
  return { filter: { ...filter, state: 'dead' } }
}
