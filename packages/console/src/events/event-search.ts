import type { FeedEvent, ListedEvent } from '../api/operator-client.ts'

/** The states of an event, in the order in which it passes through them. */
export const EVENT_STATES = [
  'pending',
  'processing',
  'done',
  'unhandled',
  'dead',
  'closed',
] as const satisfies readonly ListedEvent['state'][]

/** How to select events by their deliveries: received more than once, received with another body, or either. */
const DUPLICATES = ['repeated', 'changed', 'any'] as const

/** Whether to select test events only, or all others. */
const TESTS = ['only', 'without'] as const

/** What was typed into the search box. It can name a person, so it is in the memory of the session and in no address. */
export interface TypedSearch {
  /** An id of an event, an order or a payment. */
  readonly find?: string
  /** A text in the body. */
  readonly text?: string
}

export type EventSearch = AddressFilters & TypedSearch

/** The filters of the list of events, as the address bar has them. */
interface AddressFilters {
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
}

const TEXTS = ['typed', 'provider', 'type', 'handler', 'reason', 'order'] as const
const TIMES = ['from', 'to'] as const

/** The filters of an address, and the name of the typed search that belongs to them. */
interface EventAddress extends AddressFilters {
  readonly typed?: string
}

/** Reads the filters of an address. Unknown and invalid filters are ignored. */
export function readEventSearch(search: Readonly<Record<string, unknown>>): EventAddress {
  const texts = TEXTS.map((name) => [name, textOf(search[name])])
  const times = TIMES.map((name) => [name, timeOf(search[name])])
  const state = EVENT_STATES.find((one) => one === search.state)
  const duplicates = DUPLICATES.find((one) => one === search.duplicates)
  const tests = TESTS.find((one) => one === search.tests)
  const chosen = { state, duplicates, tests }
  const found = [...texts, ...times, ...Object.entries(chosen)].filter(([, value]) => value !== undefined)
  return Object.fromEntries(found)
}

/** Reads what was typed, as text of bodies or as an id. Null if it is nothing. */
export function readTyped(typed: unknown, where: keyof TypedSearch): TypedSearch | null {
  const text = textOf(typed)
  return text === undefined ? null : { [where]: text }
}

function textOf(value: unknown): string | undefined {
  const text = typeof value === 'string' ? value.trim().slice(0, 255) : ''
  return text === '' ? undefined : text
}

function timeOf(value: unknown): string | undefined {
  const time = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return Number.isNaN(time) ? undefined : new Date(time).toISOString()
}

/** The filter of the operator API, without the text of the search box. */
export function toEventFilter({ find: _, text: __, ...search }: EventSearch) {
  return toApiNames(search)
}

function toApiNames<Rest extends AddressFilters>({ order, tests, ...others }: Rest) {
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
  return find === undefined ? toEventFilter(search) : { ...toApiNames(others), about: find }
}

/** New values of filters. Undefined removes one. */
export type FilterChange = { readonly [Name in keyof EventAddress]?: string | undefined }

export function withFilter(search: EventAddress, change: FilterChange): EventAddress {
  return readEventSearch({ ...search, ...change })
}

/** The states by how much their task needs somebody. */
const URGENCY: readonly ListedEvent['state'][] = ['dead', 'processing', 'pending', 'unhandled', 'closed', 'done']

/** The tasks of an event that match the filters, or all if none does any more. The one that needs somebody most comes first. */
export function matchingTasks({ tasks }: Pick<FeedEvent, 'tasks'>, search: EventSearch): FeedEvent['tasks'] {
  const wanted = (['state', 'handler', 'reason'] as const).filter((name) => search[name] !== undefined)
  const matching = tasks.filter((task) => wanted.every((name) => task[name] === search[name]))
  const some = matching.length === 0 ? tasks : matching
  return some.toSorted((one, other) => URGENCY.indexOf(one.state) - URGENCY.indexOf(other.state))
}
