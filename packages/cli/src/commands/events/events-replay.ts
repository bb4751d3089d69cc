import { addToGroup } from '../../add-to-group.ts'
import type { CliContext } from '../../cli-context.ts'
import type { AddCommand } from '../../command.ts'
import type { ExitCode } from '../../exit-code.ts'
import { connectOperator } from '../../operator/connect-operator.ts'
import { describeNotRead } from '../../operator/describe-replay.ts'
import { ask, type OperatorClient } from '../../operator/operator-client.ts'
import { readReason } from '../../operator/read-reason.ts'
import { addReplayOptions, type ReplayOptions, toReplayTarget } from '../../operator/replay-options.ts'
import { type WatchedReplay, watchReplay } from '../../operator/watch-replay.ts'
import { writeJson, writeLines } from '../../output.ts'

/** `oncehook events replay`: makes failed events due again. */
export const addEventsReplayCommand: AddCommand = (program, { context, finish }) => {
  const command = addToGroup(program, 'events', 'replay')
    .description('Make events due again: one, several, or all that match a filter.')
    .argument('[ids...]', 'event ids, as printed by `events list`')
    .action(async (ids: string[], options: ReplayOptions) => finish(await replayEvents(ids, options, context)))
  addReplayOptions(command)
}

async function replayEvents(ids: readonly string[], options: ReplayOptions, context: CliContext): Promise<ExitCode> {
  const target = toReplayTarget(ids, options, context.now())
  const client = await connectOperator(options, context)
  const asked = await ask(
    client.events.replay.mutate({
      ...target,
      reason: await readReason(options.dryRun ? (options.reason ?? 'dry run') : options.reason, context),
      dryRun: options.dryRun ?? false,
      includeDone: options.includeDone ?? false,
      ...(options.rate === undefined ? {} : { ratePerSecond: options.rate }),
    }),
  )
  const { replayId, matched } = asked
  if (replayId === null || !options.wait || matched === 0) {
    if (options.json) writeJson(context, asked)
    else writeLines(context, [describeAsked(asked)])
    return 0
  }
  if (!options.json) writeLines(context, [describeAsked(asked)])
  return watch({ client, replayId }, options, context)
}

type Asked = Awaited<ReturnType<OperatorClient['events']['replay']['mutate']>>

function describeAsked({ replayId, matched }: Asked): string {
  const events = matched === 1 ? '1 event' : `${matched} events`
  if (replayId === null) return `${events} would be replayed; nothing was changed`
  return matched === 0 ? 'No event matches: nothing was changed' : `Replay ${replayId}: ${events}`
}

async function watch(
  replay: { readonly client: OperatorClient; readonly replayId: string },
  options: ReplayOptions,
  context: CliContext,
): Promise<ExitCode> {
  const cancelOnInterrupt = options.cancelOnInterrupt ?? false
  const watched = await watchReplay(context, { ...replay, timeoutMs: options.timeout * 1_000, cancelOnInterrupt })
  const { progress, ended } = watched
  if (options.json) writeJson(context, { replayId: replay.replayId, ended, ...progress })
  else writeLines(context, describeEnd(watched))
  return ended === 'settled' && progress.state === 'finished' && progress.failed === 0 ? 0 : 1
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
