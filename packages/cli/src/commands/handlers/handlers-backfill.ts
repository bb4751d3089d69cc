import { addToGroup } from '../../add-to-group.ts'
import type { AddCommand } from '../../command.ts'
import { addOperatorAction, type Typed } from '../../operator/add-operator-action.ts'
import { addEventFilterOptions, type EventFilterOptions, toEventFilter } from '../../operator/event-filter-options.ts'
import { readReason } from '../../operator/read-reason.ts'
import { readWhole } from '../../options/option-values.ts'

interface BackfillOptions {
  readonly dryRun?: boolean
  readonly rate?: number
  readonly reason?: string
}

/** `oncehook handlers backfill`: gives a handler the events that were stored before. */
export const addHandlersBackfillCommand: AddCommand = (program, deps) => {
  const command = addToGroup(program, 'handlers', 'backfill')
    .description(
      'Give a handler the stored events that it wants, once all gateways have its setting. `replays show` shows the progress.',
    )
    .argument('<handler>', 'name of the handler, as printed by `handlers list`')
  addEventFilterOptions(command)
    .option('--dry-run', 'only count the events')
    .option('--rate <n>', 'at most n events per second', readWhole(1, 10_000))
    .option('--reason <text>', 'reason for the audit log (a terminal prompts for it)')
  addOperatorAction(command, deps, {
    async call(client, { argument: handler, options }: Typed<EventFilterOptions & BackfillOptions>) {
      const { dryRun = false, rate, reason } = options
      return client.handlers.backfill.mutate({
        ...{ handler, dryRun, filter: toEventFilter(options, deps.context.now()) },
        reason: await readReason(dryRun ? (reason ?? 'dry run') : reason, deps.context),
        ...(rate === undefined ? {} : { ratePerSecond: rate }),
      })
    },
    describe: ({ replayId, matched }) =>
      replayId === null
        ? [`${matched} stored records are examined: one for each event and handler that has it; nothing was changed`]
        : [`Replay ${replayId}: examines ${matched} stored records`],
  })
}
