import type { CliContext } from '../../cli-context.ts'
import type { AddCommand } from '../../command.ts'
import { commandGroup } from '../../command-group.ts'
import { connectOperator } from '../../operator/connect-operator.ts'
import { addEventFilterOptions, type EventFilterOptions, toEventFilter } from '../../operator/event-filter-options.ts'
import { ask, type OperatorClient } from '../../operator/operator-client.ts'
import { addOperatorOptions, type OperatorOptions } from '../../operator/operator-options.ts'
import { addPageOptions, describeNext, type PageOptions, toPage } from '../../operator/page-options.ts'
import { toTime, writeJson, writeLines } from '../../output.ts'
import { toTableLines } from '../../table.ts'

type Options = EventFilterOptions & OperatorOptions & PageOptions

/** `oncehook events list`: lists events with their states, newest first. */
export const addEventsListCommand: AddCommand = (program, { context, finish }) => {
  const command = commandGroup(program, 'events', 'Inspect events and replay failed ones.')
    .command('list')
    .description('List events, newest first.')
    .action(async (options: Options) => {
      await listEvents(options, context)
      finish(0)
    })
  addOperatorOptions(addPageOptions(addEventFilterOptions(command)))
}

async function listEvents(options: Options, context: CliContext): Promise<void> {
  const client = await connectOperator(options, context)
  const filter = toEventFilter(options, context.now())
  const page = await ask(client.events.list.query({ ...filter, ...toPage(options) }))
  if (options.json) return writeJson(context, page)
  writeLines(context, page.items.length === 0 ? ['No events'] : describe(page))
}

const HEAD = ['ID', 'RECEIVED', 'PROVIDER', 'EVENT', 'TYPE', 'ORDER', 'STATE', 'REASON', 'STARTS', 'DELIVERIES']

function describe({ items, next }: Awaited<ReturnType<OperatorClient['events']['list']['query']>>): string[] {
  const rows = items.map((event) => [
    ...[event.id, toTime(event.receivedAt), event.provider, event.eventId, event.type, event.orderId],
    ...[event.state, event.reason, event.starts, event.deliveries],
  ])
  return [...toTableLines(HEAD, rows), ...describeNext(next)]
}
