import type { Command } from 'commander'
import { UsageError } from '../exit-code.ts'
import { readPositive, readWhole } from '../option-values.ts'
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
Without --state it takes dead events only. A replayed event goes the usual way: one that had its effect has no second one.
Exits with 0 when every event that was replayed is settled, or for --dry-run and --no-wait when the gateway accepted; with 1
when one is dead again, not settled in time, or the replay was refused or cancelled; with 2 when the options are wrong.`

/** Gives a command the options of `ReplayOptions`. */
export function addReplayOptions(command: Command): Command {
  addEventFilterOptions(command)
    .option('--all', 'every event that is dead')
    .option('--reason <text>', 'why, for the audit (asked for on a terminal)')
    .option('--dry-run', 'only count what would be replayed')
    .option('--rate <n>', 'so many events a second at most', readWhole(1, 10_000))
    .option('--include-done', 'also events that are done')
    .option('--no-wait', 'do not wait until they are settled')
    .option('--timeout <seconds>', 'how long to wait for the last ones', readPositive, 60)
    .option('--cancel-on-interrupt', 'Ctrl-C also cancels the replay (default: it goes on in the gateway)')
    .addHelpText('after', exits)
  return addOperatorOptions(command)
}

/** What to replay, in the form of the operator API. */
export type ReplayTarget = { readonly ids: string[] } | { readonly filter: EventFilter }

/**
 * What the ids and options mean.
 * @throws UsageError when they mean nothing, or two things at once
 */
export function toReplayTarget(ids: readonly string[], options: ReplayOptions, now: number): ReplayTarget {
  const filter = toEventFilter(options, now)
  const filtered = Object.keys(filter).length > 0
  if (ids.length > MOST_IDS) throw new UsageError(`Name ${MOST_IDS} ids at most, or say which by a filter`)
  if (ids.length > 0 && (filtered || options.all)) throw new UsageError('Give ids or a filter, not both')
  if (ids.length > 0) return { ids: [...ids] }
  if (!filtered && !options.all)
    throw new UsageError('Name ids, or say which by a filter such as --failed-with, or --all')
  if (filter.state === 'processing') throw new UsageError('What is being processed cannot be replayed')
  if (filter.state === 'done' && !options.includeDone) throw new UsageError('--state done needs --include-done')
  if (filter.state !== undefined || options.includeDone) return { filter }
  return { filter: { ...filter, state: 'dead' } }
}
