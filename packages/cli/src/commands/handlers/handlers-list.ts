import { addToGroup } from '../../add-to-group.ts'
import type { AddCommand } from '../../command.ts'
import { addOperatorAction } from '../../operator/add-operator-action.ts'
import type { OperatorClient } from '../../operator/operator-client.ts'
import { toPrintable, toTime } from '../../output.ts'
import { toTableLines } from '../../table.ts'

type Handlers = Awaited<ReturnType<OperatorClient['handlers']['list']['query']>>

/** `oncehook handlers list`: lists handlers with their tasks and pauses. */
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
