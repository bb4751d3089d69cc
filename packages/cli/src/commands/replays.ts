// `oncehook events replay` and `oncehook replays`. The gateway replays events by itself. The command only starts that, then
// watches its progress until every event is settled, nothing moves any more, or the user presses Ctrl-C.

import type { Command } from 'commander'
import { type AddCommand, type CliContext, type ExitCode, UsageError } from '../command.ts'
import {
  addEventFilterOptions,
  type EventFilter,
  type EventFilterOptions,
  toEventFilter,
} from '../operator/event-filter.ts'
import {
  addOperatorOptions,
  ask,
  connectOperator,
  type OperatorClient,
  type OperatorOptions,
} from '../operator/operator-client.ts'
import {
  addOperatorAction,
  addPageAction,
  addReasonOption,
  type ReasonOptions,
  readReason,
} from '../operator/operator-command.ts'
import { readPositive, readWhole } from '../options/option-values.ts'
import { toPrintable, toTime, writeJson, writeLines, writeResult } from '../output.ts'

/** Adds `replay` to the group of events. */
export const addReplayCommand: AddCommand = (events, { context, finish }) => {
  const command = events
    .command('replay')
    .description('Make events due again: one, several, or all that match a filter.')
    .argument('[ids...]', 'event ids, as printed by `events list`')
    .action(async (ids: string[], options: ReplayOptions) => finish(await replayEvents(ids, options, context)))
  addReplayOptions(command)
}

async function replayEvents(ids: readonly string[], options: ReplayOptions, context: CliContext): Promise<ExitCode> {
  const target = toReplayTarget(ids, options)
  const client = await connectOperator(options, context)
  const asked = await ask(
    client.events.replay.mutate({
      ...target,
      reason: await readReason(options, context),
      dryRun: options.dryRun ?? false,
      includeDone: options.includeDone ?? false,
      ratePerSecond: options.rate,
    }),
  )
  const { replayId, matched } = asked
  const isLast = replayId === null || !options.wait || matched === 0
  if (!options.json) writeLines(context, [describeAsked(asked)])
  else if (isLast) writeJson(context, asked)
  if (isLast) return 0
  const watched = await watchReplay({ client, replayId }, options, context)
  writeResult(context, options, { replayId, ended: watched.ended, ...watched.progress }, describeEnd(watched))
  return isDone(watched) ? 0 : 1
}

type Asked = Awaited<ReturnType<OperatorClient['events']['replay']['mutate']>>

function describeAsked({ replayId, matched }: Asked): string {
  const events = matched === 1 ? '1 event' : `${matched} events`
  if (replayId === null) return `${events} would be replayed; nothing was changed`
  return matched === 0 ? 'No event matches: nothing was changed' : `Replay ${replayId}: ${events}`
}

function isDone({ progress: { state, failed }, ended }: WatchedReplay): boolean {
  return ended === 'settled' && state === 'finished' && failed === 0
}

function describeEnd({ progress: { state, matched, started, done, failed, notRead }, ended }: WatchedReplay): string[] {
  const open = started - done - failed
  const settled = `${done} settled, ${failed} dead again${open > 0 ? `, ${open} not settled yet` : ''}`
  const skipped = state === 'finished' && started < matched ? [`${matched - started} had changed and were skipped`] : []
  if (state === 'cancelled') return [`Cancelled after ${started} of ${matched}: ${settled}`]
  if (ended === 'interrupted') return [`${settled}; the replay continues in the gateway`]
  if (ended === 'timed_out') return [`${settled}: look again with \`events list\``]
  return [settled, ...skipped, ...describeNotRead(notRead)]
}

interface ReplayOptions extends EventFilterOptions, OperatorOptions, ReasonOptions {
  readonly all?: boolean
  readonly rate?: number
  readonly includeDone?: boolean
  readonly wait: boolean
  readonly timeout: number
}

const MOST_IDS = 1_000

const exits = `
Without --state, only dead events are replayed. An event that already had its effect has no second effect.
Exits with 0 if every replayed event is settled (with --dry-run or --no-wait: if the gateway accepted the request), with 1 if
an event is dead again or not settled in time, or if the replay was refused or cancelled, and with 2 for wrong usage.`

function addReplayOptions(command: Command): Command {
  addReasonOption(addEventFilterOptions(command).option('--all', 'replay all dead events'))
    .option('--dry-run', 'only count the events that would be replayed')
    .option('--rate <n>', 'at most n events per second', readWhole(1, 10_000))
    .option('--include-done', 'also replay events that are done')
    .option('--no-wait', 'do not wait until the events are settled')
    .option('--timeout <seconds>', 'how long to wait for the last events', readPositive, 60)
    .addHelpText('after', exits)
  return addOperatorOptions(command)
}

type ReplayTarget = { readonly ids: string[] } | { readonly filter: EventFilter }

/** @throws UsageError if they select nothing, or conflict */
function toReplayTarget(ids: readonly string[], options: ReplayOptions): ReplayTarget {
  const filter = toEventFilter(options)
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

type ReplayProgress = Awaited<ReturnType<OperatorClient['replays']['get']['query']>>

interface WatchedReplay {
  readonly progress: ReplayProgress
  readonly ended: 'settled' | 'timed_out' | 'interrupted'
}

const LOOK_MS = 500

/**
 * Watches a replay until all its events are settled, or none was for as long as the time-out once all are due. Ctrl-C stops
 * watching, not the replay. A terminal shows the progress.
 */
async function watchReplay(
  { client, replayId }: { readonly client: OperatorClient; readonly replayId: string },
  { timeout }: ReplayOptions,
  context: CliContext,
): Promise<WatchedReplay> {
  const look = (): Promise<ReplayProgress> => ask(client.replays.get.query({ replayId }))
  let interrupted = false
  const wake = Promise.withResolvers<void>()
  const release = context.onInterrupt(() => {
    interrupted = true
    wake.resolve()
  })
  try {
    let latest = { progress: await look(), at: context.now() }
    for (;;) {
      showProgress(latest.progress, context)
      if (interrupted) return { progress: latest.progress, ended: 'interrupted' }
      if (isSettled(latest.progress)) return { progress: latest.progress, ended: 'settled' }
      if (context.now() - latest.at > timeout * 1_000) return { progress: latest.progress, ended: 'timed_out' }
      await Promise.race([context.sleep(LOOK_MS), wake.promise])
      const progress = await look()
      latest = { progress, at: hasMoved(latest.progress, progress) ? context.now() : latest.at }
    }
  } finally {
    if (context.hasTerminal) context.warn('\n')
    release()
  }
}

function isSettled({ state, started, done, failed }: ReplayProgress): boolean {
  return state !== 'running' && done + failed >= started
}

function hasMoved(before: ReplayProgress, after: ReplayProgress): boolean {
  return after.state === 'running' || after.done + after.failed > before.done + before.failed
}

/** Overwrites one line of a terminal. */
function showProgress({ matched, done, failed }: ReplayProgress, { hasTerminal, warn }: CliContext): void {
  if (hasTerminal) warn(`\r${Math.min(done + failed, matched)} of ${matched} settled, ${failed} dead again`)
}

export const addReplaysCommands: AddCommand = (program, deps) => {
  const group = program.command('replays').description('Inspect or cancel a replay.')
  addPageAction(group.command('list').description('List replays of all operators, newest first.'), deps, {
    call: (client, page) => client.replays.list.query(page),
    none: 'No replays',
    head: ['REPLAY', 'STARTED', 'BY', 'STATE', 'MATCHED', 'DUE AGAIN', 'SETTLED', 'DEAD AGAIN', 'REASON'],
    row: ({ replayId, startedAt, by, state, matched, started, done, failed, reason }) => [
      ...[replayId, toTime(startedAt), by, state, matched],
      ...[started ?? NOT_COUNTED, done ?? NOT_COUNTED, failed ?? NOT_COUNTED, reason],
    ],
  })
  const argument = ['<id>', 'replay id, as printed by `events replay`'] as const
  const show = group.command('show').description('Show the progress of a replay.')
  addOperatorAction(show.argument(...argument), deps, {
    call: async (client, { argument: replayId }) => ({ replayId, ...(await client.replays.get.query({ replayId })) }),
    describe: describeReplay,
  })
  const cancel = group.command('cancel').description('Cancel a replay; events that it already made due stay due.')
  addOperatorAction(cancel.argument(...argument), deps, {
    call: async (client, { argument: replayId }) => {
      return { replayId, ...(await client.replays.cancel.mutate({ replayId })) }
    },
    describe: describeReplay,
  })
}

const NOT_COUNTED = 'counting took too long'

function describeReplay(progress: ReplayProgress): string[] {
  const { state, matched, started, done, failed, by, reason, startedAt, finishedAt, notRead } = progress
  return [
    `State     ${state}`,
    `Started   ${toTime(startedAt)} by ${toPrintable(by)}: ${toPrintable(reason)}`,
    ...(finishedAt === null ? [] : [`Ended     ${toTime(finishedAt)}`]),
    `Events    ${matched} matched at the start, ${started} made due again: ${done} settled, ${failed} dead again`,
    ...describeNotRead(notRead),
  ]
}

/** A line about events that could not be remapped; no line if there are none. */
function describeNotRead(notRead: number): string[] {
  if (notRead === 0) return []
  return [`Mapping   ${notRead} could not be remapped and keep their old mapping (\`events show\` gives the reason)`]
}
