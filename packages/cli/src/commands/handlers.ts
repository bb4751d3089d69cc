// `oncehook handlers`: lists handlers, pauses and resumes them, and gives or takes them tasks.

import type { Command } from 'commander'
import type { AddCommand, CommandDeps } from '../command.ts'
import { addEventFilterOptions, type EventFilterOptions, toEventFilter } from '../operator/event-filter.ts'
import type { OperatorClient } from '../operator/operator-client.ts'
import { addOperatorAction, addReasonedAction, type Reasoned } from '../operator/operator-command.ts'
import { readWhole } from '../options/option-values.ts'
import { toTableLines, toTime } from '../output.ts'

export const addHandlersCommands: AddCommand = (program, deps) => {
  const group = program.command('handlers').description('Inspect, pause and resume your own handlers.')
  const list = group.command('list').description('List handlers with their pending and dead tasks.')
  addOperatorAction(list, deps, {
    call: (client) => client.handlers.list.query(),
    describe: (handlers) => (handlers.length === 0 ? ['No handlers: HANDLERS is not set'] : describe(handlers)),
  })
  const pause = group.command('pause').description('Store the tasks of a handler, but send none until it is resumed.')
  addReasonedAction(pause.argument(...LISTED), deps, {
    call: (client, { argument: handler, reason }) => client.handlers.pause.mutate({ handler, reason }),
    describe: ({ handler }) => [`Paused: tasks of ${handler} are stored, and wait until it is resumed`],
  })
  const resume = group.command('resume').description('Send the tasks of a paused handler, the oldest first.')
  addReasonedAction(resume.argument(...LISTED), deps, {
    call: (client, { argument: handler, reason }) => client.handlers.resume.mutate({ handler, reason }),
    describe: ({ handler }) => [`Resumed: the tasks of ${handler} that waited are due now`],
  })
  addBackfill(group, deps)
  addDiscard(group, deps)
}

const LISTED = ['<handler>', 'name of the handler, as printed by `handlers list`'] as const

type Handlers = Awaited<ReturnType<OperatorClient['handlers']['list']['query']>>

function describe(handlers: Handlers): string[] {
  const rows = handlers.map((handler) => {
    const { name, by, host, pending, dead, oldestStoredAt, orderBy, blockOnDead } = handler
    const order = blockOnDead ? `${orderBy}, waits for dead ones` : orderBy
    return [name, by, host, pending ?? 'unknown', dead ?? 'unknown', toTime(oldestStoredAt), stateOf(handler), order]
  })
  const pauses = handlers.flatMap(({ name, paused, pausedBySetting }) => {
    if (paused === null) return pausedBySetting ? [[name, null, 'the setting', null]] : []
    return [[name, toTime(paused.since), paused.by, paused.reason]]
  })
  return [
    ...toTableLines(
      ['HANDLER', 'CALLED BY', 'HOST', 'PENDING', 'DEAD', 'OLDEST PENDING', 'TASKS ARE', 'ORDER BY'],
      rows,
    ),
    ...(pauses.length === 0 ? [] : ['', ...toTableLines(['HANDLER', 'PAUSED SINCE', 'BY', 'REASON'], pauses)]),
  ]
}

function stateOf({ by, answers, paused, pausedBySetting }: Handlers[number]): string {
  if (by === 'removed') return 'not sent: removed'
  if (paused !== null || pausedBySetting) return 'paused'
  return answers === false ? 'not answered' : 'sent'
}

function addBackfill(group: Command, deps: CommandDeps): void {
  const command = group
    .command('backfill')
    .description(
      'Give a handler the stored events that it wants, once all gateways have its setting. `replays show` shows the progress.',
    )
    .argument(...LISTED)
  addEventFilterOptions(command)
    .option('--dry-run', 'only count the events')
    .option('--rate <n>', 'at most n events per second', readWhole(1, 10_000))
  addReasonedAction(command, deps, {
    call: (client, { argument: handler, options, reason }: Reasoned<EventFilterOptions & { readonly rate?: number }>) =>
      client.handlers.backfill.mutate({
        ...{ handler, dryRun: options.dryRun ?? false, filter: toEventFilter(options), ratePerSecond: options.rate },
        reason,
      }),
    describe: ({ replayId, matched }) =>
      replayId === null
        ? [`${matched} stored records are examined: one for each event and handler that has it; nothing was changed`]
        : [`Replay ${replayId}: examines ${matched} stored records`],
  })
}

function addDiscard(group: Command, deps: CommandDeps): void {
  const command = group
    .command('discard')
    .description('Settle the pending and dead tasks of a handler that is no longer configured in any gateway.')
    .argument('<handler>', 'name of the handler, as it was in the setting')
  addReasonedAction(command, deps, {
    async call(client, { argument: handler, reason }) {
      let discarded = 0
      for (;;) {
        const answer = await client.handlers.discard.mutate({ handler, reason })
        discarded += answer.discarded
        if (!answer.more) return { ...answer, discarded }
      }
    },
    describe: ({ handler, discarded, held }) => [
      `Discarded ${discarded} tasks of ${handler}`,
      ...(held === 0 ? [] : [`${held} are held by a process. Discard again when their claims have ended`]),
    ],
  })
}
