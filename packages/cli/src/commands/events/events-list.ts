import { addToGroup } from '../../add-to-group.ts'
import type { AddCommand } from '../../command.ts'
import { addOperatorAction, type Typed } from '../../operator/add-operator-action.ts'
import { addEventFilterOptions, type EventFilterOptions, toEventFilter } from '../../operator/event-filter-options.ts'
import type { OperatorClient } from '../../operator/operator-client.ts'
import { addPageOptions, describeNext, type PageOptions, toPage } from '../../operator/page-options.ts'
import { toPrintable, toTime } from '../../output.ts'
import { toTableLines } from '../../table.ts'

interface SearchOptions {
  readonly about?: string
  readonly text?: string
}

/** `oncehook events list`: lists events with their states, newest first. */
export const addEventsListCommand: AddCommand = (program, deps) => {
  const command = addToGroup(program, 'events', 'list').description('List events, newest first.')
  addEventFilterOptions(command)
    .option('--about <id>', 'with this id, or about the order or payment that has it')
    .option('--text <text>', 'with this text in the body (requires the role bodies; the audit log records it)')
  addOperatorAction(addPageOptions(command), deps, {
    call(client, { options }: Typed<EventFilterOptions & PageOptions & SearchOptions>) {
      const { about, text } = options
      const filter = toEventFilter(options, deps.context.now())
      const search = { ...(about === undefined ? {} : { about }), ...(text === undefined ? {} : { text }) }
      return client.events.list.query({ ...filter, ...search, ...toPage(options) })
    },
    describe: (page) => (page.items.length === 0 ? ['No events'] : describe(page)),
    warn: (page) => [...describeNotReadable(page), ...describeCut(page)],
  })
}

const HEAD = ['ID', 'RECEIVED', 'PROVIDER', 'EVENT', 'TYPE', 'ORDER', 'STATE', 'REASON', 'ATTEMPTS', 'DELIVERIES']

type EventPage = Awaited<ReturnType<OperatorClient['events']['list']['query']>>

function describe({ items, next, cut }: EventPage): string[] {
  const hasHandlers = items.some(({ handler }) => handler !== undefined)
  const rows = items.map((event) => [
    ...[event.id, toTime(event.receivedAt), event.provider, event.eventId, event.type, event.orderId],
    ...[event.state, event.reason, event.starts, event.deliveries],
    ...(hasHandlers ? [event.handler ?? null] : []),
  ])
  return [...toTableLines(hasHandlers ? [...HEAD, 'HANDLER'] : HEAD, rows), ...(cut === null ? describeNext(next) : [])]
}

function describeCut({ next, cut }: EventPage): string[] {
  if (cut === null || next === null) return []
  const time = toTime(cut.searchedTo)
  return [`The search took too long and stopped at ${time}: continue with --after ${toPrintable(next)}, or narrow it`]
}

function describeNotReadable({ notReadable }: EventPage): string[] {
  if (notReadable === 0) return []
  return [`${notReadable} bodies could not be read: run oncehook doctor, which checks the encryption keys`]
}
