import type { FeedEvent, ListedEvent } from '../api/operator-client.ts'

/** The states of an event, in the order in which it passes through them. */
export const EVENT_STATES = ['pending', 'processing', 'done', 'unhandled', 'dead', 'closed'] as const

/** Received more than once, received with another body, or either. */
const DUPLICATES = ['repeated', 'changed', 'any'] as const
const TESTS = ['only', 'without'] as const

/** What was typed into the search box. It can name a person, so it is in the memory of the session and in no address. */
export interface TypedSearch {
  /** An id of an event, an order or a payment. */
  readonly find?: string
  /** A text in the body. */
  readonly text?: string
}

export type EventSearch = Omit<EventAddress, 'typed'> & TypedSearch

/** The filters of the list of events, as the address bar has them. */
interface EventAddress {
  readonly duplicates?: (typeof DUPLICATES)[number]
  readonly tests?: (typeof TESTS)[number]
  readonly state?: ListedEvent['state']
  readonly provider?: string
  readonly type?: string
  /** `fulfilment` also selects events that nobody wants. */
  readonly handler?: string
  readonly reason?: string
  readonly order?: string
  /** ISO 8601. */
  readonly from?: string
  readonly to?: string
  /** The name of what was typed. */
  readonly typed?: string
}

const TEXTS = ['typed', 'provider', 'type', 'handler', 'reason', 'order'] as const
const TIMES = ['from', 'to'] as const

/** Reads the filters of an address. Unknown and invalid filters are ignored. */
export function readEventSearch(search: Readonly<Record<string, unknown>>): EventAddress {
  const found = {
    ...Object.fromEntries(TEXTS.map((name) => [name, textOf(search[name])])),
    ...Object.fromEntries(TIMES.map((name) => [name, timeOf(search[name])])),
    state: EVENT_STATES.find((one) => one === search.state),
    duplicates: DUPLICATES.find((one) => one === search.duplicates),
    tests: TESTS.find((one) => one === search.tests),
  }
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined))
}

/** A text that was typed or is in an address; undefined if it is empty. */
export function textOf(value: unknown): string | undefined {
  return (typeof value === 'string' && value.trim().slice(0, 255)) || undefined
}

function timeOf(value: unknown): string | undefined {
  const time = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return Number.isNaN(time) ? undefined : new Date(time).toISOString()
}

/** The filter of the operator API, without the text of the search box. */
export function toEventFilter({ find: _, text: __, order, tests, ...others }: EventSearch) {
  return {
    ...others,
    ...(order === undefined ? {} : { orderId: order }),
    ...(tests === undefined ? {} : { test: tests === 'only' }),
  }
}

export function toEventQuery(search: EventSearch) {
  const { find, text, order: _, ...others } = search
  if (text !== undefined) return { ...toEventFilter(search), text }
  // An id in the box replaces the filter for one kind of id.
  return find === undefined ? toEventFilter(search) : { ...toEventFilter(others), about: find }
}

/** New values of filters. Undefined removes one. */
export type FilterChange = { readonly [Name in keyof EventAddress]?: string | undefined }

/** The states by how much their task needs somebody. */
const URGENCY: readonly ListedEvent['state'][] = ['dead', 'processing', 'pending', 'unhandled', 'closed', 'done']

/** The tasks of an event that match the filters, or all if none does any more. The one that needs somebody most comes first. */
export function matchingTasks({ tasks }: Pick<FeedEvent, 'tasks'>, search: EventSearch): FeedEvent['tasks'] {
  const wanted = (['state', 'handler', 'reason'] as const).filter((name) => search[name] !== undefined)
  const matching = tasks.filter((task) => wanted.every((name) => task[name] === search[name]))
  const some = matching.length === 0 ? tasks : matching
  return some.toSorted((one, other) => URGENCY.indexOf(one.state) - URGENCY.indexOf(other.state))
}
