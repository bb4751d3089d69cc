// `oncehook handlers`: lists handlers, pauses and resumes them, and gives or takes them tasks.

import { type AddCommand, addToGroup } from '../command.ts'
import { addEventFilterOptions, type EventFilterOptions, toEventFilter } from '../operator/event-filter.ts'
import type { OperatorClient } from '../operator/operator-client.ts'
import { addOperatorAction, readReason, reasonedCommand, type Typed } from '../operator/operator-command.ts'
import { readWhole } from '../options/option-values.ts'
import { toPrintable, toTableLines, toTime } from '../output.ts'

type Handlers = Awaited<ReturnType<OperatorClient['handlers']['list']['query']>>

export const addHandlersListCommand: AddCommand = (program, deps) => {
  const command = addToGroup(program, 'handlers', 'list')
  addOperatorAction(command.description('List handlers with their pending and dead tasks.'), deps, {
    call: (client) => client.handlers.list.query(),
    describe: (handlers) => (handlers.length === 0 ? ['No handlers: HANDLERS is not set'] : describe(handlers)),
  })
}

function describe(handlers: Handlers): string[] {
  const rows = handlers.map((handler) => {
    const { name, by, host, pending, dead, oldestStoredAt, orderBy, blockOnDead } = handler
    const oldest = oldestStoredAt === null ? null : toTime(oldestStoredAt)
    const order = blockOnDead ? `${orderBy}, waits for dead ones` : orderBy
    return [toPrintable(name), by, host, pending ?? 'unknown', dead ?? 'unknown', oldest, stateOf(handler), order]
  })
  const pauses = handlers.flatMap(({ name, paused, pausedBySetting }) => {
    if (paused === null) return pausedBySetting ? [[name, null, 'the setting', null]] : []
    return [[name, toTime(paused.since), toPrintable(paused.by), toPrintable(paused.reason)]]
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

export const addHandlersPauseCommand = reasonedCommand(['handlers', 'pause'], {
  description: 'Store the tasks of a handler, but send none until it is resumed.',
  argument: ['<handler>', 'name of the handler, as printed by `handlers list`'],
  call: (client, { argument: handler, reason }) => client.handlers.pause.mutate({ handler, reason }),
  describe: ({ handler }) => [`Paused: tasks of ${handler} are stored, and wait until it is resumed`],
})

export const addHandlersResumeCommand = reasonedCommand(['handlers', 'resume'], {
  description: 'Send the tasks of a paused handler, the oldest first.',
  argument: ['<handler>', 'name of the handler, as printed by `handlers list`'],
  call: (client, { argument: handler, reason }) => client.handlers.resume.mutate({ handler, reason }),
  describe: ({ handler }) => [`Resumed: the tasks of ${handler} that waited are due now`],
})

interface BackfillOptions {
  readonly dryRun?: boolean
  readonly rate?: number
  readonly reason?: string
}

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
        ...{ handler, dryRun, filter: toEventFilter(options), ratePerSecond: rate },
        reason: await readReason(dryRun ? (reason ?? 'dry run') : reason, deps.context),
      })
    },
    describe: ({ replayId, matched }) =>
      replayId === null
        ? [`${matched} stored records are examined: one for each event and handler that has it; nothing was changed`]
        : [`Replay ${replayId}: examines ${matched} stored records`],
  })
}

export const addHandlersDiscardCommand = reasonedCommand(['handlers', 'discard'], {
  description: 'Settle the pending and dead tasks of a handler that is no longer configured in any gateway.',
  argument: ['<handler>', 'name of the handler, as it was in the setting'],
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
